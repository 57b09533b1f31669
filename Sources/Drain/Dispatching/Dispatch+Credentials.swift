import Delivery
import Policy
import Spool

/// Attempts that wait for a command or a token endpoint, beside the deliveries. Each keeps its slot. After a crash they
/// are like claims that were not sent.
extension Dispatch {
    struct Waiting {
        let attempt: Attempt
        let work: CredentialWork
        /// The answer that refused the secrets of the attempt; `nil` before its request.
        var report: AttemptReport?
    }

    /// Lets an attempt wait for work.
    mutating func wait(_ attempt: Attempt, for work: CredentialWork, _ report: AttemptReport? = nil) {
        waitingCount += 1
        waiting[waitingCount] = Waiting(attempt: attempt, work: work, report: report)
        sender.begin(work, ticket: waitingCount)
    }

    /// Goes on with the attempts whose work has ended.
    mutating func resumeWaiting() {
        for ticket in sender.takeEnded() {
            guard let ended = waiting.removeValue(forKey: ticket) else { continue }
            if let report = ended.report {
                countEnded(ended.attempt.destination)
                judge(report, of: ended.attempt, hasFreshSecrets: ended.work.hasChanged)
            } else if !ended.attempt.isProbe,
                !ended.attempt.destination.control.admits(attempts: ended.attempt.attempts)
            {
                putBack(ended.attempt)
            } else {
                ended.attempt.signature = ended.work.signature
                send(ended.attempt)
            }
        }
    }

    /// The number of attempts with an answer that refused their secrets.
    var refusedCount: Int { waiting.values.count { $0.report != nil } }

    /// Puts the operations back that wait for their request, for a run that ends. The look-up after a refusal has the
    /// grace time, as attempts in flight have.
    mutating func putBackWaiting() {
        for (ticket, one) in waiting.sorted(by: { $0.key < $1.key }) where one.report == nil {
            waiting[ticket] = nil
            putBack(one.attempt)
        }
    }

    /// Judges the refusals whose look-up has not ended in the grace time, as if it had found the same secrets. A signal
    /// leaves the operation of `send` in the queue.
    mutating func judgeRefused() {
        for (ticket, one) in waiting.sorted(by: { $0.key < $1.key }) {
            guard let report = one.report else { continue }
            waiting[ticket] = nil
            if settling.hasSubmitter {
                putBack(one.attempt)
                continue
            }
            countEnded(one.attempt.destination)
            judge(report, of: one.attempt, hasFreshSecrets: false)
        }
    }

    private mutating func putBack(_ attempt: Attempt) {
        countEnded(attempt.destination)
        settling.putBack(attempt.members.flatMap(\.claims))
        for member in attempt.members { queue.advance(member.sequence, continues: false) }
    }

    /// Looks up the secrets of an attempt again after a 401, if they may have changed. Returns `false` if they may not.
    /// A route's command always runs again. After a refusal of fresh secrets, does not look them up for
    /// `SecretStore.commandRetryInterval`.
    mutating func lookUpSecretsAgain(
        of attempt: Attempt, refusedBy report: AttemptReport
    ) -> Bool {
        let destination = attempt.destination
        let now = world.clock.instant()
        if attempt.hasFreshSecrets {
            destination.refusedFreshSecrets = now
            return false
        }
        if let last = destination.refusedFreshSecrets, now < last + SecretStore.commandRetryInterval { return false }
        let runsCommand = attempt.maker.route.headersCommand != nil
        let secrets = attempt.secrets
        if secrets.values.isEmpty, !runsCommand { return false }
        let refresh = { [look = world.credentials.refresh] in look(secrets) || runsCommand }
        if world.credentials.waitsBeside {
            countBegun(destination)
            wait(attempt, for: CredentialWork { $0.hasChanged = refresh() }, report)
        } else {
            settling.settleDecided()
            judge(report, of: attempt, hasFreshSecrets: refresh())
        }
        return true
    }
}
