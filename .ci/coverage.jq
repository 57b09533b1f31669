# Reads llvm-cov's export: prints the line coverage of Sources and of its rooms, and fails where it is too low.
# $root is the path of Sources/, with the slash.
def percent: if .count == 0 then 100 else 100 * .covered / .count end;
def sum: {count: (map(.count) | add // 0), covered: (map(.covered) | add // 0)};

{Policy: 95, Spool: 95} as $least
| [.data[0].files[] | select(.filename | startswith($root))
    | {room: (.filename[($root | length):] | split("/")[0]), count: .summary.lines.count, covered: .summary.lines.covered}]
| ([{name: "Sources", least: 85} + sum]
    + (group_by(.room) | map({name: .[0].room, least: ($least[.[0].room] // 0)} + sum)))
| map(. + {percent: percent} | . + {enough: (.percent > .least)})
| (.[] | "\(if .enough then "      " else "TOO LOW" end) \(.percent * 10 | round / 10) % of \(.count) lines in \(.name)"
    + (if .least > 0 then ", more than \(.least) % wanted" else "" end)),
  if all(.enough) then empty else "the tests run too little of it\n" | halt_error(1) end
