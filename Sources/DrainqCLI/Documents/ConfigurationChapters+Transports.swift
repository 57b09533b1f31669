/// Which transport a request takes, what URLSession on Linux cannot do, and how agents are shared. The suites of the
/// transports keep all of it true.
extension ConfigurationChapters {
    static let transports = #"""
        .Sh TRANSPORTS
        Requests are made by libcurl or by URLSession.
        With
        .Ic transport : Li \(dqauto\(dq
        a request takes the first that can be used on the machine: on Linux libcurl,
        then URLSession; on macOS URLSession, then libcurl.
        The tests of drainq decide this order.
        On Linux libcurl passes all of them, with honest and with 93 hostile servers,
        16 kinds of stray answers and 46 ways to break off HTTP/2.
        URLSession fails in what
        .Sx URLSESSION ON LINUX
        lists, and takes more processor time, as
        .Xr drainq-sizing 7
        measures.
        .Pp
        A destination whose
        .Ic transport
        is
        .Li \(dqurlsession\(dq
        or
        .Li \(dqlibcurl\(dq
        takes that one on every platform.
        For all other destinations the environment variable
        .Ev DRAINQ_TRANSPORT ,
        which is
        .Li urlsession
        or
        .Li libcurl ,
        stands in place of
        .Li \(dqauto\(dq .
        .Pp
        With
        .Li \(dqauto\(dq
        a request takes libcurl on every platform if it has
        .Bl -bullet -compact
        .It
        a
        .Ic proxy
        that is a URL or
        .Li direct ,
        a
        .Ic caFile ,
        a
        .Ic clientCertificate
        or a
        .Ic unixSocket ;
        .It
        a host that is an IPv6 address;
        .It
        a body that is a file;
        .It
        the method GET and a body;
        .It
        no body and a
        .Ic timeouts.connect
        of its own.
        .El
        .Pp
        URLSession has a program of its own,
        .Pa drainq-urlsession ,
        beside
        .Nm drainq
        or in
        .Pa ../libexec/drainq
        from there, so that
        .Nm drainq
        itself begins fast.
        Where that is not installed,
        .Li \(dqauto\(dq
        takes libcurl.
        .Pp
        libcurl is opened when it is needed:
        .Pa libcurl.so.4
        of the system, 7.68 or later.
        Where it cannot be used,
        .Li \(dqauto\(dq
        takes URLSession.
        On Linux URLSession needs the library, too, so a machine without it sends
        nothing.
        A request that the chosen transport cannot carry is never sent with less than
        it asks for: its destination is held, and
        .Nm drainq Cm check
        says so before.
        .Nm drainq Cm explain Fl -type Ar TYPE
        says which transport a route takes, and why.
        Redirects, proxies of the environment, time-outs and the bound of an answer
        are the same with both.
        .Pp
        An attempt is one request, and an answer counts for the request that it
        answers.
        libcurl keeps connections.
        A kept connection with unread input is closed before it is used.
        Over HTTP/1.1 the connections of a destination take turns, and there are up
        to twice as many as requests in flight: an answer too many arrives while its
        connection rests, and is seen.
        It can change the verdict of the one request that it is taken to answer.
        Over HTTP/2 an answer names its request.
        A 2xx that comes before the whole request has left is no delivery
        .Pq Li truncated .
        Over HTTP/2 it is one: a server that needs no more of a request says so by
        ending the stream without an error
        .Pq RFC 9113, section 8.1 .
        A server whose answers end the process that talks to it, again and again
        .Pq Li agent-died ,
        is worth a try with the other transport.

        """#

    static let urlsession = #"""
        .Sh URLSESSION ON LINUX
        On Linux URLSession is made of libcurl, and
        .Pa drainq-urlsession
        sets what its interface has no word for: each request has an HTTP/1.1
        connection and a time-out for connecting of its own, so that no answer
        belongs to another request and no request is sent twice.
        Answers and errors are read as libcurl gives them, and mean the same over
        both transports.
        URLSession on Linux cannot do this:
        .Bl -tag -width Ds
        .It keep a connection
        Every request pays for a new one; over TLS that is a handshake.
        .It speak HTTP/2
        .It see a connection that carries no body
        .Ic timeouts.request
        of a request without a body begins when
        .Ic timeouts.connect
        has passed.
        .It send header fields as they are given
        Fields of one name become one field, joined by commas; names are
        capitalised.
        A POST without Content-Type gets
        .Li application/x-www-form-urlencoded .
        .It tell no body from an empty body
        GET sends neither body nor Content-Length, other methods Content-Length 0.
        .It carry what
        .Sx TRANSPORTS
        lists
        Such a request is refused.
        .El
        .Sh DELIVERY AGENTS
        Attempts are made by child processes of a run, which hold nothing of the
        queue.
        A destination has one agent at a time, and an agent one destination.
        There is at most one agent for each processor and one more, eight in all, and
        an idle one serves the next destination.
        Where more destinations are in flight, they share agents, but for those that
        have killed or hung one.
        .Pp
        When an agent dies or hangs, only the requests that it had begun are in doubt.
        A single one is charged:
        .Li agent-died ,
        or
        .Li deadline .
        Several are sent again one after the other, each alone and under the next
        Drainq-Attempt, and only those that end an agent again are charged.
        .Pp
        An agent takes 2 to 4 MB of its own at rest, and 6 to 8 MB with its share of
        what the agents have in common.
        It ends where it would take more than 1 GB for libcurl, or 256 MB for
        URLSession.
        A unit or a container bounds all of them together: the packaged unit has
        MemoryMax=1G.

        """#
}
