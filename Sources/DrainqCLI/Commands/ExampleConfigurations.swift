import CSystem
import Delivery
import Policy
import Spool

/// The configurations that `drainq init --example` writes: the files of `etc/drainq/examples`, one for each service.
/// They are installed beside the program, not built into it.
struct ExampleConfigurations {
    /// The possible directories, relative to that of the program: where packages put them, and where the repository has
    /// them, seen from `.build/TRIPLE/CONFIGURATION` and from `.build/CONFIGURATION`.
    static let places = ["../share/drainq/examples", "../../../etc/drainq/examples", "../../etc/drainq/examples"]
    /// The value of `--example` that lists the names.
    static let list = "list"
    private static let ending = ".json5"
    private static let largest = 1 << 20

    let directory: String
    let names: [String]

    /// Finds the first place that has examples. Throws if none has.
    init(besideProgram program: String = Installation.program) throws(CommandFailure) {
        let parent = program.lastIndex(of: "/").map { program[...$0] } ?? ""
        for place in Self.places {
            let names = Self.names(in: parent + place)
            if names.isEmpty { continue }
            directory = parent + place
            self.names = names
            return
        }
        throw CommandFailure(
            .inputOutput, "cannot find the example configurations in '\(parent)\(Self.places[0])'",
            hint: "the package of drainq installs them below the prefix of the program")
    }

    private static func names(in directory: String) -> [String] {
        Installation.names(in: directory).filter { $0.hasSuffix(ending) }.map { String($0.dropLast(ending.count)) }
    }

    /// Returns the configuration of that name, as its file has it.
    func text(of name: String) throws(CommandFailure) -> String {
        guard names.contains(name) else {
            throw CommandFailure(
                .usage, "there is no example '\(name)'",
                hint: nearest(to: name, in: names).map { "did you mean \($0)?" }
                    ?? "'drainq init --example \(Self.list)' lists the examples")
        }
        let path = "\(directory)/\(name)\(Self.ending)"
        do throws(Errno) {
            return String(decoding: try contents(of: path, upTo: Self.largest), as: UTF8.self)
        } catch {
            throw CommandFailure(.inputOutput, "cannot read '\(path)': \(error)")
        }
    }

    /// Returns a line for each example: its name, and the first line of its comment.
    func lines() throws(CommandFailure) -> [String] {
        let width = (names.map(\.count).max() ?? 0) + 2
        return try names.map { name throws(CommandFailure) in
            let first = try text(of: name).split(separator: "\n").first ?? ""
            let blanks = String(repeating: " ", count: width - name.count)
            return name + blanks + first.drop { $0 == "/" || $0 == " " }
        }
    }
}
