# A formula for Homebrew that builds the newest commit. Replace git.example.com by the address of your repository, and put the
# file into your own tap: brew tap-new ADA/tap, then brew install --HEAD ADA/tap/drainq
class Drainq < Formula
  desc "Store-and-forward for HTTP, without a daemon and without a database"
  homepage "https://git.example.com/drainq"
  head "https://git.example.com/drainq.git", branch: "main"

  # Uses the Swift of the system: Xcode's on macOS, elsewhere the toolchain in PATH.
  uses_from_macos "curl"
  uses_from_macos "swift" => :build, since: :sequoia

  def install
    system "swift", "build", "--disable-sandbox", "--configuration", "release"
    bin.install ".build/release/drainq"
    (libexec/"drainq").install ".build/release/drainq-urlsession"
    (share/"drainq/examples").install Dir["etc/drainq/examples/*"]
    man1.install "man/drainq.1"
    man5.install Dir["man/*.5"]
    man7.install Dir["man/*.7"]
    bash_completion.install "completions/drainq.bash" => "drainq"
    zsh_completion.install "completions/_drainq"
    fish_completion.install "completions/drainq.fish"
  end

  # Runs once a minute and at login: brew services start drainq
  service do
    run [opt_bin/"drainq", "run", "--wait", "3s", "--max-time", "50s"]
    run_type :interval
    interval 60
    log_path var/"log/drainq.log"
    error_log_path var/"log/drainq.log"
  end

  test do
    assert_match "5 delivered", shell_output("#{bin}/drainq demo 2>&1")
  end
end
