import Configuration
import Policy
import Spool

/// Performs `drainq init`: makes the queue directory and a commented configuration, or that of a service. Does not
/// change a queue that exists.
func initialize(_ arguments: InitArguments, environment: [String: String]) throws(CommandFailure) -> ExitStatus {
    try failing {
        if arguments.example == ExampleConfigurations.list {
            try ExampleConfigurations().lines().forEach(standardOutput.line)
            return .ok
        }
        let path = try queuePath(option: arguments.queue.path, environment: environment)
        let url = arguments.url
        if let url, let reason = ConfigurationFile.urlError(url) {
            throw CommandFailure(.usage, "cannot use '\(withoutUserInformation(url))' for --url: \(reason)")
        }
        let initial = ConfigurationFile.initial(url: url)
        do throws(ConfigurationErrors) {
            _ = try ConfigurationFile.read(Array(initial.utf8), name: "drainq.json", directory: path)
        } catch {
            // The URL is all that the user gave.
            throw CommandFailure(
                .usage, "cannot use '\(url ?? "")' for --url: \(error.errors[0].reason)", hint: error.errors[0].hint)
        }
        let example = try arguments.example.map { name in
            try "\(ConfigurationFile.reference)\n\(ExampleConfigurations().text(of: name))"
        }
        let queue = try SpoolDirectory.create(at: path)
        let isNew = try queue.createConfiguration(example ?? initial)
        let isSet =
            isNew
            ? url != nil
            : try OpenQueue(arguments.queue, environment).configuration.defaultRoute.url
                .map { url == nil || url == $0 } ?? false
        if !isNew, example != nil || url != nil && !isSet {
            throw CommandFailure(
                .configuration, "'\(path)/drainq.json' exists already and was not changed",
                hint: url != nil ? "set routes.default.url in it" : "move it away first, or name another queue with -q")
        }
        if !arguments.verbosity.isQuiet {
            Messages.notice("queue ready in '\(path)'")
            if example != nil {
                Messages.notice(
                    "next: edit '\(path)/drainq.json': its comments say where the address and the secrets go; then '\(pasted("check"))'"
                )
            } else if !isSet {
                Messages.notice("next: set routes.default.url in '\(path)/drainq.json'")
            }
        }
        return .ok
    }
}
