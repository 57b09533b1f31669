// The C library, for all files: `import CSystem`. No other file names Glibc, Musl or Darwin, or asks `canImport`.

@_exported public import CPlatform

#if canImport(Glibc)
    @_exported public import Glibc
#elseif canImport(Musl)
    @_exported public import Musl
#else
    @_exported public import Darwin
#endif
