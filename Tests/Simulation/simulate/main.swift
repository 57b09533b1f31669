import Foundation
import Simulation

do {
    let options = try CampaignOptions(Array(CommandLine.arguments.dropFirst()))
    exit(try Campaign(options, program: Bundle.main.executablePath ?? CommandLine.arguments[0])())
} catch let error as UsageError {
    FileHandle.standardError.write(Data("simulate: \(error)\n\(CampaignOptions.usage)\n".utf8))
    exit(64)
}
