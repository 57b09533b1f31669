private import Delivery

/// The command line. For now only the hidden word `agent`, by which the binary starts itself to make attempts.
package enum DrainqCLI {
    /// Does what `arguments` (with the program's name first) say and ends the process.
    package static func main(_ arguments: [String]) -> Never {
        if arguments.dropFirst().first == "agent" { DeliveryAgent.main() }
        fatalError("not furnished yet")
    }
}
