import Configuration
import Spool

/// `drainq init`: makes the directory and a commented configuration; a queue that is there already is left as it is.
func initialize(_ command: ParsedCommand, environment: [String: String]) throws(CommandFailure) -> ExitStatus {
    try failing {
        let path = try queuePath(option: command.text(.queue), environment: environment)
        let url = command.text(.url)
        if let url, let reason = ConfigurationFile.urlError(url) {
            throw CommandFailure(.usage, "cannot use '\(url)' for --url: \(reason)")
        }
        let queue = try SpoolDirectory.create(at: path)
        if try !queue.createConfiguration(ConfigurationFile.template(url: url)), url != nil {
            throw CommandFailure(
                .configuration, "'\(path)/drainq.json' is there already and was not changed",
                hint: "set routes.default.url in it")
        }
        if !command.flag(.quiet) {
            Messages.notice("queue ready in '\(path)'")
            if url == nil { Messages.notice("next: set routes.default.url in '\(path)/drainq.json'") }
        }
        return .ok
    }
}
