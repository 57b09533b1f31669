extension ConfigurationManual {
    static let hooks = """
        .Sh HOOKS
        A hook is told at the end of a run what has happened in it,
        by one call for each event, however many destinations it is about.
        .Ic started
        is called before the first attempt.
        What
        .Xr drainq 1
        .Cm send
        does is not told.
        It is started without a shell, in the directory of the configuration,
        with the variables of
        .Sx ENVIRONMENT OF COMMANDS .
        Its output is not looked at.
        After ten seconds it is ended.
        One that fails or does not end is a warning,
        and is not called again for the same;
        the run's exit status is what it would have been.
        .Pp
        On its standard input is an object of one line,
        and the same is in its environment:
        .Bl -tag -width Ds
        .It Ic schema
        1.
        .It Ic event , Ev DRAINQ_EVENT
        .Li held ,
        .Li released ,
        .Li failed ,
        .Li quarantined ,
        .Li delivered ,
        .Li started
        or
        .Li ended .
        .It Ic queue , Ev DRAINQ_QUEUE
        The queue directory, so that
        .Xr drainq 1
        in a hook is about this queue.
        .It Ic time , Ev DRAINQ_TIME
        When it is called, by RFC 3339.
        .It Ic count , Ev DRAINQ_COUNT
        How many: destinations that are held or released,
        operations that failed or were delivered,
        files that went into quarantine, runs that started or ended since the last call.
        .It Ic destination , Ev DRAINQ_DESTINATION
        The first destination; none with
        .Li quarantined ,
        .Li started
        and
        .Li ended .
        .It Ic reason , Ev DRAINQ_REASON
        Why, for the first of them:
        what the server answered, how many operations are due,
        or what the last run came to, such as
        .Li 3 delivered; exit status 0 .
        It may have words of a server in it.
        .It Ic destinations
        The first ten destinations.
        .It Ic ids , Ev DRAINQ_IDS
        The first ten operations or files, in the variable with blanks between them.
        .El
        .Sh ENVIRONMENT OF COMMANDS
        The commands of secrets,
        .Ic headersCommand
        and hooks get these variables of the run's environment and no other:
        .Ev PATH , HOME , USER , LOGNAME , SHELL , TMPDIR ,
        .Ev LANG , LANGUAGE , LC_* , TZ ,
        .Ev XDG_CONFIG_HOME , XDG_RUNTIME_DIR , DBUS_SESSION_BUS_ADDRESS ,
        .Ev SSL_CERT_FILE , SSL_CERT_DIR ,
        .Ev http_proxy , https_proxy , all_proxy , no_proxy
        and the last three in capitals;
        and those that
        .Ic passEnvironment
        names.
        A variable that is a secret is never among them.

        """
}
