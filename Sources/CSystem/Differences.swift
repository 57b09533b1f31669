// The differences between the C libraries as Swift sees them.

#if canImport(Darwin)
    /// The flag of send(2) that prevents SIGPIPE: zero, because Darwin has an option of the socket, `preventSIGPIPE`.
    package let noSignal: Int32 = 0
    /// The type argument of socket(2) for a stream. Linux closes it on exec(2) without a second call.
    package let streamSocket: Int32 = SOCK_STREAM
    /// The flag of posix_spawn(3) that closes every other descriptor. Linux has `csystem_spawn_close_from` instead.
    package let closesOnSpawn = Int32(POSIX_SPAWN_CLOEXEC_DEFAULT)
    package typealias SpawnActions = posix_spawn_file_actions_t?
    package typealias SpawnAttributes = posix_spawnattr_t?
#else
    package let noSignal = Int32(MSG_NOSIGNAL)
    #if canImport(Glibc)
        package let streamSocket = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    #else
        package let streamSocket = Int32(SOCK_STREAM) | Int32(SOCK_CLOEXEC)
    #endif
    package let closesOnSpawn: Int32 = 0
    package typealias SpawnActions = posix_spawn_file_actions_t
    package typealias SpawnAttributes = posix_spawnattr_t
#endif

/// Makes send(2) on a broken connection an error instead of SIGPIPE. Does nothing on Linux, see `noSignal`.
package func preventSIGPIPE(on socket: Int32) {
    #if canImport(Darwin)
        var on: Int32 = 1
        _ = setsockopt(socket, SOL_SOCKET, SO_NOSIGPIPE, &on, socklen_t(MemoryLayout<Int32>.size))
    #endif
}

/// Returns file actions for posix_spawn_file_actions_init(3).
package func emptySpawnActions() -> SpawnActions {
    #if canImport(Darwin)
        nil
    #else
        SpawnActions()
    #endif
}

/// Returns attributes for posix_spawnattr_init(3).
package func emptySpawnAttributes() -> SpawnAttributes {
    #if canImport(Darwin)
        nil
    #else
        SpawnAttributes()
    #endif
}

/// Returns an action for sigaction(2) that calls the handler.
package func signalAction(_ handler: @escaping @convention(c) (Int32) -> Void) -> sigaction {
    var action = sigaction()
    #if canImport(Darwin)
        action.__sigaction_u.__sa_handler = handler
    #elseif canImport(Glibc)
        action.__sigaction_handler.sa_handler = handler
    #else
        action.__sa_handler.sa_handler = handler
    #endif
    return action
}

extension sigaction {
    /// Whether the action is to ignore the signal.
    var isIgnoring: Bool {
        #if canImport(Darwin)
            let handler = __sigaction_u.__sa_handler
        #elseif canImport(Glibc)
            let handler = __sigaction_handler.sa_handler
        #else
            let handler = __sa_handler.sa_handler
        #endif
        return unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }
}

/// Calls the closure on a new thread, which takes no signals. Returns false if the system starts none.
package func beginThread(_ run: @escaping () -> Void) -> Bool {
    let body = Unmanaged.passRetained(ThreadBody(run))
    let hasBegun = csystem_begin_thread(
        { Unmanaged<ThreadBody>.fromOpaque($0!).takeRetainedValue().run() }, body.toOpaque())
    if !hasBegun { body.release() }
    return hasBegun
}

private final class ThreadBody {
    let run: () -> Void

    init(_ run: @escaping () -> Void) { self.run = run }
}
