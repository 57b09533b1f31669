// The types of Foundation that drainq uses, for all files but those of drainq-urlsession. Linux has them in
// FoundationEssentials: loading the rest of Foundation would take most of the time in which drainq begins.
//
// Each is imported by its name: `Operation` and other names of Foundation are also types of Policy.

#if canImport(FoundationEssentials)
    @_exported public import class FoundationEssentials.FileManager
    @_exported public import class FoundationEssentials.JSONDecoder
    @_exported public import class FoundationEssentials.JSONEncoder
    @_exported public import struct FoundationEssentials.Data
    @_exported public import struct FoundationEssentials.Date
    @_exported public import struct FoundationEssentials.UUID
#else
    @_exported public import class Foundation.FileManager
    @_exported public import class Foundation.JSONDecoder
    @_exported public import class Foundation.JSONEncoder
    @_exported public import struct Foundation.Data
    @_exported public import struct Foundation.Date
    @_exported public import struct Foundation.UUID
#endif
