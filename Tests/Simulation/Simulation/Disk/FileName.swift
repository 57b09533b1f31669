/// A name in a directory, with its place in the order of listings.
///
/// Two names of a disk with the same hash would count as the same name. The hash has 64 bits, so a history does not
/// meet such a pair.
struct FileName {
    let hash: UInt64
    let bytes: [UInt8]
}
