import Foundation
import Simulation

guard let options = CampaignOptions(Array(CommandLine.arguments.dropFirst())) else {
    FileHandle.standardError.write(Data("\(CampaignOptions.usage)\n".utf8))
    exit(64)
}
exit(try Campaign(options, program: Bundle.main.executablePath ?? CommandLine.arguments[0])())
