import Configuration
import Policy
import Spool

struct InitCommand: Command {
    static let name = "init"

    var url: String?
    /// The name of a service, or `list`.
    var example: String?
    var global = GlobalOptions()

    mutating func take(operands: [String]) { global.path = operands.first ?? global.path }

    static var options: [Option<Self>] {
        Option(
            .url, .text("URL"), \.url, "the URL of the default route",
            """
            The URL of the default route in the new configuration. Without it the configuration has a line to fill \
            in.
            """)
        Option(
            .example, ValueSyntax.example, \.example, "begin with the configuration of a service",
            """
            Writes the configuration of a service, such as `slack` or `elasticsearch`, instead of one that explains \
            every line. `list` prints the names and purposes of the services, and makes no queue. GALLERY in \
            drainq-config(5) compares them.
            """)
        GlobalOptions.optionsButJSON.map { $0.within(\.global) }
    }

    static let description = CommandDescription(
        Self.self, "make a queue directory and a commented configuration",
        """
        Makes the queue directory, readable and writable by its owner alone, with a configuration `drainq.json` that \
        explains every line, or with that of a service. It does not change files that are already there. DIR, or \
        --queue, names the directory; without both the environment does.
        """,
        operands: .directory,
        exclusive: [[.url, .example]],
        examples: [
            Example("drainq init --url https://api.example.com/v1/events", "a queue whose operations go to this URL"),
            Example("drainq init --example list", "list the services with a configuration"),
            Example("drainq init --example slack", "a queue for messages to Slack"),
            Example("drainq init /var/spool/drainq", "a queue in another directory"),
        ])

    func perform(environment: [String: String]) throws -> ExitStatus {
        if example == ExampleConfigurations.list {
            try ExampleConfigurations().lines().forEach(standardOutput.line)
            return .ok
        }
        let path = try queuePath(option: global.path, environment: environment)
        if let url, let reason = ConfigurationFile.urlError(url) {
            throw CommandFailure(.usage, "cannot use '\(withoutUserInformation(url))' for --url: \(reason)")
        }
        let initial = ConfigurationFile.initial(url: url)
        do throws(ConfigurationErrors) {
            _ = try ConfigurationFile.read(Array(initial.utf8), name: "drainq.json", directory: path)
        } catch {
            // The URL is all that the user gave.
            throw CommandFailure(
                .usage, "cannot use '\(url ?? "")' for --url: \(error.errors[0].reason)", hint: error.errors[0].hint
            )
        }
        let example = try example.map { name in
            try "\(ConfigurationFile.reference)\n\(ExampleConfigurations().text(of: name))"
        }
        let queue = try SpoolDirectory.create(at: path)
        let isNew = try queue.createConfiguration(example ?? initial)
        let isSet =
            isNew
            ? url != nil
            : try OpenQueue(global, environment).configuration.defaultRoute.url
                .map { url == nil || url == $0 } ?? false
        if !isNew, example != nil || url != nil && !isSet {
            throw CommandFailure(
                .configuration, "'\(path)/drainq.json' exists already and was not changed",
                hint: url != nil
                    ? "set routes.default.url in it" : "move it away first, or name another queue with -q")
        }
        if !global.verbosity.isQuiet {
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
