import Delivery

/// The delivery agent whose transport is URLSession: started by `drainq run`, never by a person.
///
/// A program of its own, because FoundationNetworking makes a program that begins slowly: drainq itself has none of it.
DeliveryAgent.main { concurrency, report in
    URLSessionTransport(concurrency: concurrency, report: report)
}
