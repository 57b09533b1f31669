import Drain

extension ShownState {
    var paint: Paint {
        switch self {
        case .held, .failed, .quarantined: .bad
        case .deferred: .waiting
        case .delivered: .good
        case .new, .claimed: .plain
        }
    }
}
