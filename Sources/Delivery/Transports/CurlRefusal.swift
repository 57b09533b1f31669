import Policy

/// An attempt that ends before it has begun.
struct CurlRefusal: Error {
    var result: AttemptReport.Result
}
