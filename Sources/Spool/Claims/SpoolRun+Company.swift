extension SpoolRun {
    /// Whether another run is at the queue. To be asked after `recover`: what is left in `claimed/` then is alive.
    package var hasCompany: Bool {
        get throws(SpoolError) {
            for run in try queue.names(in: QueueState.claimed.path) {
                let path = QueuePath(in: QueueState.claimed.path, run)
                if path != directory.path, try queue.status(path, "look at")?.kind == .directory { return true }
            }
            return false
        }
    }
}
