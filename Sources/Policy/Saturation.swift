// Saturating arithmetic for numbers from outside: from a file or its name, a clock, a configuration, a server or a
// user. A result that does not fit into the type becomes the nearest value that does: no operator traps or wraps
// around. `Timestamp` saturates by itself.

infix operator +| : AdditionPrecedence
infix operator -| : AdditionPrecedence
infix operator *| : MultiplicationPrecedence
infix operator +|= : AssignmentPrecedence

extension FixedWidthInteger {
    /// Returns the sum, or the nearest value of the type.
    @inlinable
    package static func +| (left: Self, right: Self) -> Self {
        let (sum, overflow) = left.addingReportingOverflow(right)
        return overflow ? (right < 0 ? .min : .max) : sum
    }

    /// Adds a number to a variable. The variable becomes the sum, or the nearest value of the type.
    @inlinable
    package static func +|= (left: inout Self, right: Self) { left = left +| right }

    /// Returns the difference, or the nearest value of the type.
    @inlinable
    package static func -| (left: Self, right: Self) -> Self {
        let (difference, overflow) = left.subtractingReportingOverflow(right)
        return overflow ? (right < 0 ? .max : .min) : difference
    }

    /// Returns the product, or the nearest value of the type.
    @inlinable
    package static func *| (left: Self, right: Self) -> Self {
        let (product, overflow) = left.multipliedReportingOverflow(by: right)
        return overflow ? ((left < 0) == (right < 0) ? .max : .min) : product
    }

    /// Creates the number rounded towards zero, or the nearest value of the type; 0 for NaN.
    @inlinable
    package init(saturating number: Double) {
        // A number below 2^63 in magnitude converts to Int64 without a check.
        if abs(number) < 0x1p63 {
            self = Self(clamping: Int64(number))
        } else if number.isNaN {
            self = 0
        } else {
            // As a Double, a type's largest value can be one more than the type holds.
            self = Self(exactly: number.rounded(.towardZero)) ?? (number < 0 ? .min : .max)
        }
    }
}
