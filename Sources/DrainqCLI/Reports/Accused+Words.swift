import Policy

extension Accused {
    var inWords: String {
        switch self {
        case .machine: "this machine"
        case .agent: "the delivery agent"
        case .network: "the network"
        case .destination: "the destination"
        case .credentials: "the credentials"
        case .batch: "the batch"
        case .operation: "the operation"
        }
    }
}
