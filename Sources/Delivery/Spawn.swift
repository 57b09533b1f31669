import CSystem
import Policy

/// How a child process begins: with the descriptors it is given and no others.
struct Spawn {
    /// What the child's descriptors 0, 1 and 2 are; `nil` is /dev/null.
    var descriptors: (input: Int32, output: Int32?, errors: Int32?)
    var arguments: [String]
    /// `NAME=value`.
    var environment: [String]
    /// Where it starts; `nil` is where this process is.
    var directory: String?
    /// Signals that do not reach it until it asks for them.
    var blockedSignals: [Int32] = []
    /// Signals do what they do by themselves, whatever this process has made of them.
    var resetsSignals = false
    /// It begins a process group, so that what it starts can be ended with it.
    var beginsGroup = false

    /// Starts it; a program without a slash is looked for in PATH.
    func start(_ program: String) throws(Errno) -> pid_t {
        var actions = emptySpawnActions()
        var attributes = emptySpawnAttributes()
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        posix_spawn_file_actions_adddup2(&actions, descriptors.input, 0)
        for (number, given) in [(Int32(1), descriptors.output), (2, descriptors.errors)] {
            if let given {
                posix_spawn_file_actions_adddup2(&actions, given, number)
            } else {
                posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_RDWR, 0)
            }
        }
        if let directory { csystem_spawn_change_directory(&actions, directory.rawCString) }

        var flags = Int32(POSIX_SPAWN_SETSIGMASK) | closesOnSpawn
        var signals = sigset_t()
        sigemptyset(&signals)
        for signal in blockedSignals { sigaddset(&signals, signal) }
        posix_spawnattr_setsigmask(&attributes, &signals)
        if resetsSignals {
            sigfillset(&signals)
            posix_spawnattr_setsigdefault(&attributes, &signals)
            flags |= Int32(POSIX_SPAWN_SETSIGDEF)
        }
        if beginsGroup {
            posix_spawnattr_setpgroup(&attributes, 0)
            flags |= Int32(POSIX_SPAWN_SETPGROUP)
        }
        csystem_spawn_close_from(&actions, 3)
        posix_spawnattr_setflags(&attributes, Int16(flags))

        var process: pid_t = 0
        // For C, ended by a null pointer.
        let arguments = arguments.map { strdup($0.rawCString) } + [nil]
        let environment = environment.map { strdup($0.rawCString) } + [nil]
        let failure = posix_spawnp(&process, program.rawCString, &actions, &attributes, arguments, environment)
        for text in arguments + environment { free(text) }
        guard failure == 0 else { throw Errno(failure) }
        return process
    }
}
