// Generated from the API description by `npm run client`; not to be edited.

export interface paths {
    "/v1/whoami": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Who am I?
         * @description The account and the user behind the credential of this call.
         *
         *     Any valid credential will do.
         */
        get: operations["WhoAmI"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/me/servers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the servers you reach
         * @description Your own (`my`), and those of others that you were let into (`shared`), without their owners.
         *
         *     Needs the scope `servers:read`. Apps need the scope `servers:list`.
         */
        get: operations["ListMyServers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/{accountId}/wallet": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the wallet
         * @description What the account has: the sum of its ledger at every moment.
         *
         *     Needs the scope `billing:read`.
         */
        get: operations["GetWallet"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/{accountId}/ledger": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the ledger
         * @description Every movement of money, newest first. A `usage` entry covers one hour that a server was awake, and grows until that hour or the session is over; all others never change.
         *
         *     Needs the scope `billing:read`.
         */
        get: operations["ListLedger"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/{accountId}/limits": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get an account's limits
         * @description How much RAM the servers of the account may have together, asleep or awake.
         *
         *     Needs the scope `servers:read`.
         */
        get: operations["GetAccountLimits"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/{accountId}/checkout-link": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Open a checkout
         * @description Returns the address of a payment page. Once paid, the amount is in the wallet; no further call is needed.
         *
         *     Needs the scope `billing:read`.
         */
        post: operations["CreateCheckoutLink"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/{accountId}/spend-cap": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the spend cap
         * @description What may be spent, what has been, at which prices, and how long the wallet lasts.
         *
         *     Needs the scope `billing:read`.
         */
        get: operations["GetSpendCap"];
        put?: never;
        /**
         * Set the spend cap
         * @description Sets what happens when the spending of a calendar month (UTC) reaches the cap: `notify` sends an e-mail; `stop` also puts servers to sleep, except flat ones whose period is paid. With `stop`, no flat period begins that would exceed the cap. An absent field stays unchanged; an account without a cap so far begins with `notify`.
         *
         *     Needs the scope `billing:write`.
         */
        post: operations["SetSpendCap"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/{accountId}/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the account's audit log
         * @description Keys, apps, members, sign-ins and money, newest first; of servers only that they came and went. What is about a server ends with its id in `detail`.
         *
         *     Needs the scope `account:read`.
         */
        get: operations["ListAccountAudit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/capacity": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get capacity
         * @description What the machine has for games, or several have together, and what awake servers have reserved of it. Sleeping ones reserve nothing. A server needs one machine with room for all of it.
         *
         *     Needs the scope `servers:read`.
         */
        get: operations["GetCapacity"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/regions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List regions
         * @description The regions for servers, their availability and their free capacity.
         *
         *     Needs the scope `servers:read`.
         */
        get: operations["ListRegions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/minecraft/versions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Minecraft versions
         * @description The releases of Minecraft (Java), newest first. Which of them a core offers is up to the core.
         *
         *     Needs the scope `servers:read`.
         */
        get: operations["ListMinecraftVersions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List servers
         * @description All servers of the account that the key reaches, oldest first. An `accountId` other than the own one is refused. Who has hundreds asks for them in pages: `limit`, and for the next page `after` with what `next` said.
         *
         *     Needs the scope `servers:read`.
         */
        get: operations["ListServers"];
        put?: never;
        /**
         * Create a server
         * @description Costs nothing and starts nothing; with a mod pack it is installed first, for which the machine needs as much room as for a start, and consent to the EULA (`AcceptEula`). Start it, or just join it.
         *
         *     Needs the scope `servers:write`.
         */
        post: operations["CreateServer"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a server
         * @description Poll it while the server starts, until `state` is `running`. Who is `limited` on it reads no `alertWebhookUrl`.
         *
         *     Needs the scope `servers:read`. On the server, needs the role `limited`.
         */
        get: operations["GetServer"];
        put?: never;
        post?: never;
        /**
         * Delete a server
         * @description Permanent: its world, backups and settings go with it. Gone from reads at once.
         *
         *     Needs the scope `servers:write`. On the server, needs the role `owner`.
         */
        delete: operations["DeleteServer"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}:start": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Start a server
         * @description Wakes the server. Poll it until `state` is `running`. Does nothing if the server is starting or running.
         *
         *     Needs the scope `servers:write`. On the server, needs the role `limited`.
         */
        post: operations["StartServer"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}:stop": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Stop a server
         * @description Saves and stops the server. Metered billing ends, data stays. Does nothing if it is asleep.
         *
         *     Needs the scope `servers:write`. On the server, needs the role `limited`.
         */
        post: operations["StopServer"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}:restart": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Restart a server
         * @description Stops the server and starts it again. Refused for one that sleeps.
         *
         *     Needs the scope `servers:write`. On the server, needs the role `member`.
         */
        post: operations["RestartServer"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}:retryInstall": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Retry an install
         * @description Runs the install again. Only in `install_failed`.
         *
         *     Needs the scope `servers:write`. On the server, needs the role `member`.
         */
        post: operations["RetryInstall"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}:updateVersion": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Change core type or Minecraft version
         * @description Only while the server is stopped; applied at the next start. What is absent stays as it is. A server keeps the build of its core that it first ran; naming the type or version that it has already brings the newest build. A newer version upgrades the world for good, and an older one may not be able to read it. If the type or version changes and there is a world, a backup is made first, and this answers when it is ready. The audit log marks a downgrade.
         *
         *     Needs the scope `servers:write`. On the server, needs the role `member`.
         */
        post: operations["UpdateServerVersion"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}:setProperties": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Set idle timeout and server.properties
         * @description What is absent stays as it is. `properties` replaces what was set before: a property left out of it goes back to the game's default, and the empty map resets all. Properties apply at the next start. Ports, RCON and the like are the service's own, and refused; so is what the server's version does not know.
         *
         *     Needs the scope `servers:write`. On the server, needs the role `member`.
         */
        post: operations["SetServerProperties"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}:setMotd": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Set the description in the server list
         * @description Plain text, `§` codes or MiniMessage (`<gold>`, `<#ff8800>`, `<gradient:…>`); two lines of 128 characters at most. Shown at once while the server sleeps, and by the game from its next start on. Empty: the default.
         *
         *     Needs the scope `servers:write`. On the server, needs the role `member`.
         */
        post: operations["SetServerMotd"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}:setAlertWebhook": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Set the alert webhook
         * @description A webhook of a chat platform, at a public https address. Empty: alerts are off. Where its name leads is looked at with each call alone; the audit log says when one was given up. Of low TPS alerts tell only where the game tells its pace: see `ticksAvailable` of GetServerMetrics.
         *
         *     Needs the scope `servers:write`. On the server, needs the role `member`.
         */
        post: operations["SetServerAlertWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}:setPublicStatus": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Show or hide the public status page
         * @description While enabled, `/status/{publicSlug}` shows name, state, version, players and description to everybody, and the address only with `showAddress`. The slug is minted at the first enabling and stays.
         *
         *     Needs the scope `servers:write`. On the server, needs the role `member`.
         */
        post: operations["SetPublicStatus"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}:update": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Change name, RAM, plan, waiting room or client versions
         * @description What is absent stays as it is. RAM and plan change only while the server is stopped, the plan only by its owner. With `waitingRoom`, which is experimental, players of Minecraft 1.21.6 and newer who wake the server see its start in a window, with who else waits and a button to leave, and join by themselves once it is ready. Where the machine has no room for the server, they wait in line for up to ten minutes and read their place. Older clients, and those of Forge and NeoForge, wait as ever, and are refused where there is no room. `clientVersions` says who can play: `own`, clients of the server’s version alone; `any`, as with a plugin that translates (ViaVersion); `auto`, the default: `own` for `sandbox`, `vanilla`, and a sleeping server without such a plugin or mod (by the names of the files in `plugins` and `mods`), else `any`. Who cannot play wakes nothing, and is told which version to choose.
         *
         *     Needs the scope `servers:write`. On the server, needs the role `member`.
         */
        post: operations["UpdateServer"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}:kill": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Kill a server
         * @description Ends a hanging start or stop without saving. Does nothing if the server is asleep.
         *
         *     Needs the scope `servers:write`. On the server, needs the role `member`.
         */
        post: operations["KillServer"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}:keepAwake": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Keep a server awake
         * @description No stop for idleness for so many minutes, 0 to 1440; 0 ends it. Only while `running`.
         *
         *     Needs the scope `servers:write`. On the server, needs the role `member`.
         */
        post: operations["KeepAwake"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}:setWakePolicy": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Set who can wake the server by joining
         * @description What is absent stays as it is, so the empty body reads the policy. It is about joins alone: keys, schedules and the dashboard start the server as ever, and who may play in an awake one is for the game to say. Banned players wake nothing.
         *
         *     Needs the scope `servers:write`. On the server, needs the role `member`.
         */
        post: operations["SetWakePolicy"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}:setModpack": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Install a mod pack
         * @description On a stopped server. Where there is a world, a backup is made first, and this answers when that is done; then the server is `installing`, and afterwards `hibernated` or `install_failed`, from which `:retryInstall` leads back. The pack brings its loader and its Minecraft version; files of the server's earlier pack are removed, but for those changed since.
         *
         *     Needs the scope `servers:write`. On the server, needs the role `member`.
         */
        post: operations["SetModpack"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/ports": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Open another port
         * @description For what a mod or plugin listens on, such as voice chat or a web map: strangers reach it at `hostPort` of `host`, from the next start of the server on. Such a port wakes nobody, and leads only to what the game itself listens on.
         *
         *     Needs the scope `servers:write`. On the server, needs the role `member`.
         */
        post: operations["AddServerPort"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/ports:remove": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Close a port
         * @description From the next start of the server on; its number may be given to another server then.
         *
         *     Needs the scope `servers:write`. On the server, needs the role `member`.
         */
        post: operations["RemoveServerPort"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}:command": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Run a console command
         * @description Runs it on the game and returns what the game says. Needs a running server; does not wake it. The game itself sees all players come from the same address: `ban-ip` with the name of a player bans the address that they really come from.
         *
         *     Needs the scope `console`. On the server, needs the role `member`.
         */
        post: operations["RunCommand"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/logs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the log
         * @description The newest `tail` lines, or with a `cursor` the next ones after it, at most `tail`. An unknown cursor is ignored.
         *
         *     Needs the scope `servers:read`. On the server, needs the role `limited`.
         */
        get: operations["GetServerLogs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/logs/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow the log
         * @description Server-sent events: the newest `tail` lines, then new ones as they are printed. A server that does not run ends the
         *     stream after those. A comment `: ping` comes every 15 seconds; a stream ends after 30 minutes. Three may be open at
         *     once with one key, ten on one account (429). Lines are cut at 8 KiB; a slow reader is told how many are missing.
         *
         *     Needs the scope `servers:read`. Accepts API keys only; a Bearer token is refused (401). On the server, needs the role `limited`.
         */
        get: operations["StreamServerLogs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read its use of CPU and memory, and its pace
         * @description The newest reading of a running server, taken every minute, and those of the last 24 hours.
         *
         *     Needs the scope `servers:read`. On the server, needs the role `limited`.
         */
        get: operations["GetServerMetrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a server's audit log
         * @description The server’s audit log, newest first. Entries about members are only for its owner.
         *
         *     Needs the scope `servers:read`. On the server, needs the role `limited`.
         */
        get: operations["ListServerAudit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/events/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow what happens
         * @description Server-sent events with ids; the data is JSON with the instant `at`. More kinds and fields may come.
         *
         *     `state`: `state`, `cause`, `players` (null: not known), and, while it starts, `phase` and `percent` as in `progress`; where
         *     it failed, `error` with `code`, `summary`, `suggestion`. `waits`, with `node` and `since`: that machine does not answer and may
         *     still run it, so that it can be neither reached nor started elsewhere; null: it is not so, or not any more. `suspended`, with
         *     `reason` and `since`: an operator lets nothing wake it; null: it is not so, or not any more.
         *
         *     `progress` of a start: `phase` is `starting`, `loading_mods`, `generating_world` or `ready`; `percent` from 0 to 100.
         *     `players`: `online`. `tick`, each minute of a running server: the figures of GetServerMetrics, with `live`.
         *
         *     `quota`, when it is exceeded or no longer: `diskUsageMb`, `diskQuotaEffectiveMb`, `quotaExceeded`. `backup`: `id`, `state`,
         *     `percent`, and, where it failed, `error`. `alert`: `alert` is `tps.low`; or `tps.recovered` with `slowSeconds`; both with
         *     `tps`, `mspt`, `players`; or `tps.ended` with `slowSeconds`, where a slow server stops; or `game.hung`, where one that does not
         *     answer any more is ended; or `stop.forced`, where one that did not end in time is killed.
         *
         *     With `Last-Event-ID` the stream goes on after that event; of `tick` only the newest is kept. Where that event is not known
         *     any more, as after a restart of the service, the stream begins with a `gap`, which has no id: events in between are
         *     missing. After it, and without `Last-Event-ID`, comes a `state` that also has `quota`, as above, and `alert`: null, or `alert` and `at` of
         *     the one that is open. So nothing needs to be polled beside it. Pings, the end after 30 minutes and the number of streams
         *     are those of StreamServerLogs, counted apart.
         *
         *     Needs the scope `servers:read`. On the server, needs the role `limited`.
         */
        get: operations["StreamServerEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/diagnostics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List past failures
         * @description Installs and starts that failed, crashes, and stops that had to be forced, with what to do about them: the last 50, newest first.
         *
         *     Needs the scope `servers:read`. On the server, needs the role `limited`.
         */
        get: operations["ListDiagnostics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/machine": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Look into a server's machine
         * @description Its state, what it would do next, why it did what it did, and the statechart that decides.
         *
         *     Needs the scope `servers:read`. On the server, needs the role `limited`.
         */
        get: operations["InspectMachine"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a server's usage
         * @description When it was awake, who woke it and what that cost, oldest first: the newest 1000 sessions that touch the span, each whole.
         *     The sums below them are of the span alone, and of all its sessions: an entry of the ledger (an hour of a session, or a period of the flat plan) belongs to the span in which it began, so that spans that follow one another add up to the ledger.
         *
         *     Needs the scope `billing:read`. On the server, needs the role `owner`.
         */
        get: operations["GetServerUsage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/database": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show the server's MySQL database
         * @description `present` is false, and the rest empty, without a database or if none are offered.
         *
         *     Needs the scope `servers:write`. On the server, needs the role `member`.
         */
        get: operations["GetServerDatabase"];
        put?: never;
        /**
         * Give the server a MySQL database
         * @description Of its own, with a user who may do anything in it and nothing elsewhere. UNIMPLEMENTED if this service offers no databases.
         *
         *     Needs the scope `servers:write`. On the server, needs the role `member`.
         */
        post: operations["CreateServerDatabase"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/database:drop": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Drop the server's MySQL database
         * @description Deletes it permanently with all its data; sessions end. A later database has another name.
         *
         *     Needs the scope `servers:write`. On the server, needs the role `member`.
         */
        post: operations["DropServerDatabase"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/database:rotatePassword": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Change the database's password
         * @description Sessions that are open end; plugins need the new password before they can sign in again.
         *
         *     Needs the scope `servers:write`. On the server, needs the role `owner`.
         */
        post: operations["RotateServerDatabasePassword"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/sftp": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read how to reach the files over SFTP
         * @description The access without the password, which is returned only when it is created. The user name is empty before the first time.
         *
         *     Needs the scope `servers:read`. On the server, needs the role `owner`.
         */
        get: operations["GetSftp"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/sftp:enable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Enable SFTP
         * @description Makes a password for the server's one SFTP user, whether the server is awake or asleep. Ends all sessions that are open, also those of the password before.
         *
         *     Needs the scope `files:write`. On the server, needs the role `owner`.
         */
        post: operations["EnableSftp"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/sftp:disable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Disable SFTP
         * @description The password is void for good. Ends all sessions that are open, also those of the password before.
         *
         *     Needs the scope `files:write`. On the server, needs the role `owner`.
         */
        post: operations["DisableSftp"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/sftp:rotatePassword": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Make a new SFTP password
         * @description The one before is void: rotate it when somebody who had it leaves. Ends all sessions that are open, also those of the password before.
         *
         *     Needs the scope `files:write`. On the server, needs the role `owner`.
         */
        post: operations["RotateSftpPassword"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/mods": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List mods and plugins
         * @description Mods added here, with their dependencies. Not those of a mod pack or uploaded by hand.
         *
         *     Needs the scope `servers:read`. On the server, needs the role `limited`.
         */
        get: operations["ListServerMods"];
        put?: never;
        /**
         * Add a mod or plugin
         * @description Chooses the version for the server's core and Minecraft version, and what it needs, downloads and checks all of it, and then puts it into `mods/` or `plugins/`. Answers when that is done; after an error nothing has changed. A game that is awake goes on with what it has loaded: the new files load at its next start. A project that is there already gets the new `versionSpec`. With `dryRun` it changes nothing, and returns the changes it would make.
         *
         *     Needs the scope `servers:write`. On the server, needs the role `member`.
         */
        post: operations["AddServerMod"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/mods:remove": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Remove a mod or plugin
         * @description Removes what only it needed, too. A mod that others need stays until they are removed. A game that is awake keeps it until its next start.
         *
         *     Needs the scope `servers:write`. On the server, needs the role `member`.
         */
        post: operations["RemoveServerMod"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/mods:update": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Update mods and plugins
         * @description Chooses again by each one's `versionSpec`, as after a change of the server's version. Returns what changes; with `dryRun` nothing is changed.
         *
         *     Needs the scope `servers:write`. On the server, needs the role `member`.
         */
        post: operations["UpdateServerMods"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/mods/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Search mods, plugins and mod packs
         * @description Searches a registry for what runs on servers, best match first.
         *
         *     Needs the scope `servers:read`.
         */
        get: operations["SearchMods"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/backups": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List backups
         * @description Newest first, including queued, running and failed ones.
         *
         *     Needs the scope `backups`. On the server, needs the role `member`.
         */
        get: operations["ListBackups"];
        put?: never;
        /**
         * Make a backup
         * @description Of all files of the server, asleep or running; a running game writes its world down first and leaves it alone until the archive is made. Answers at once: watch `state`, or the events of type `backup`. One at a time for each server.
         *
         *     Needs the scope `backups`. On the server, needs the role `member`.
         */
        post: operations["CreateBackup"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/backups/{backupId}:delete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Delete a backup
         * @description A backup in progress is cancelled. Unlock a locked one first.
         *
         *     Needs the scope `backups`. On the server, needs the role `member`.
         */
        post: operations["DeleteBackup"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/backups/{backupId}:restore": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Restore a backup
         * @description All files of the server become those of the backup, and its core, version, mods and mod pack what they were. A running server is stopped for it and started again. Answers when it is done; after an error everything is as it was. What was there before is kept as the backup `previous`, to undo the restore with, and goes with the next start that succeeds; the start that the restore itself ends with does not count. Until then `previous` stays what it is: another restore first makes a backup of what has been changed since, if anything has; restoring `previous` itself throws that away, but makes a backup first where the server has run since. Until it has ended, whatever would change the files is answered OPERATION_IN_PROGRESS.
         *
         *     Needs the scope `backups`. On the server, needs the role `member`.
         */
        post: operations["RestoreBackup"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/backups/{backupId}:download": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Download a backup
         * @description The archive, a tar compressed with Zstandard, also in part (`Range`, kept valid by `If-Range` with its `ETag`). `Repr-Digest` is its SHA-256 (RFC 9530). Passwords in `server.properties` are starred out.
         *
         *     Needs the scope `backups`. On the server, needs the role `member`.
         */
        get: operations["DownloadBackup"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/backups/{backupId}:setLocked": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Lock or unlock a backup
         * @description A locked backup is not deleted, by hand or by retention.
         *
         *     Needs the scope `backups`. On the server, needs the role `member`.
         */
        post: operations["SetBackupLocked"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/backups:setRetention": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Set how many backups are kept
         * @description Keeps the newest backups, and the newest of as many hours, days, weeks and months (UTC). The rest are deleted after the next backup. Locked ones and the newest good one always stay. Fields left out stay as they are; all 0 keeps everything.
         *
         *     Needs the scope `backups`. On the server, needs the role `member`.
         */
        post: operations["SetBackupRetention"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/files": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List a directory
         * @description What is in a directory, by name, or a part of it; the root without `path`. Works in every state. Symbolic links are shown but never followed.
         *
         *     Needs the scope `files:read`. On the server, needs the role `member`.
         */
        get: operations["ListFiles"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/file": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a file
         * @description The first 4 MiB of a file. Passwords in `server.properties` are starred out. For all of it: DownloadPath.
         *
         *     Needs the scope `files:read`. On the server, needs the role `member`.
         */
        get: operations["ReadFile"];
        put?: never;
        /**
         * Write a file
         * @description Creates or replaces a file of at most 4 MiB atomically, with the directories above it. For larger files: UploadFile.
         *
         *     Needs the scope `files:write`. On the server, needs the role `member`.
         */
        post: operations["WriteFile"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/file:copy": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Copy a file or directory
         * @description With all its content except links. `to` must not exist. Stops when the caller disconnects.
         *
         *     Needs the scope `files:write`. On the server, needs the role `member`.
         */
        post: operations["CopyPath"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/file:rename": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rename or move a file or directory
         * @description `to` must not exist; the directory above it must.
         *
         *     Needs the scope `files:write`. On the server, needs the role `member`.
         */
        post: operations["RenamePath"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/file:delete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Delete a file or directory
         * @description With all that is in it. A symbolic link is deleted itself, never what it points to.
         *
         *     Needs the scope `files:write`. On the server, needs the role `member`.
         */
        post: operations["DeletePath"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/file:mkdir": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Make a directory
         * @description With the directories above it.
         *
         *     Needs the scope `files:write`. On the server, needs the role `member`.
         */
        post: operations["MakeDirectory"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/file:download": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Download a file, or a directory as zip
         * @description A file as it is, also in part (`Range`, kept valid by `If-Range` with its `ETag`); a directory as a zip, made while it is sent. Passwords in `server.properties` are starred out.
         *
         *     Needs the scope `files:read`. On the server, needs the role `member`.
         */
        get: operations["DownloadPath"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/file:upload": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Upload a file
         * @description The body is the content, of any length the disk quota allows. The file is there when all of it has come; an upload that breaks off changes nothing. Directories above it are made.
         *
         *     Needs the scope `files:write`. On the server, needs the role `member`.
         */
        post: operations["UploadFile"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/file:archive": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Pack files and directories into an archive
         * @description The name `to` decides the format: `.zip`, `.tar`, `.tar.gz` or `.tar.zst`. Links are left out. `to` must not exist. Stops when the caller disconnects.
         *
         *     Needs the scope `files:write`. On the server, needs the role `member`.
         */
        post: operations["ArchivePaths"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/file:extract": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Unpack an archive
         * @description A zip (or jar), tar, tar.gz or tar.zst, whatever its name, into the directory `to`, which is made if it is not there. Existing files are overwritten, unless `overwrite` is false: then it is refused, and changes nothing. An archive that is damaged, holds links or reaches outside changes nothing. If the service is killed while it puts the files in place, some of them are there: extract it again. Ends when the caller goes away.
         *
         *     Needs the scope `files:write`. On the server, needs the role `member`.
         */
        post: operations["ExtractArchive"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/schedules": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List schedules
         * @description Oldest first, with how the last run of each ended. Not for who is `limited` on the server: commands may hold what only those are to know who may run them.
         *
         *     Needs the scope `servers:read`. On the server, needs the role `member`.
         */
        get: operations["ListSchedules"];
        put?: never;
        /**
         * Do something again and again
         * @description At the minutes a cron expression names, in UTC. Only kind `start` wakes a server: `command` and `restart` are skipped while it sleeps. A run that was due more than a minute ago, as after an outage, is skipped too. It acts for you: it is disabled when you are no member any more, or your key is revoked. With the id of a schedule, that one becomes this, and stays on or off; else it is a new one.
         *
         *     Needs the scope `servers:write`. Besides, needs `console` for kind `command` and `backups` for kind `backup`. On the server, needs the role `member`.
         */
        post: operations["CreateSchedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/schedules:delete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Delete a schedule
         * @description A run in progress continues.
         *
         *     Needs the scope `servers:write`. On the server, needs the role `member`.
         */
        post: operations["DeleteSchedule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/schedules:run": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Run a schedule now
         * @description Also a disabled one; its next time stays. Answers when the run has ended, or after ten seconds while it goes on. ABORTED if it is running already.
         *
         *     Needs the scope `servers:write`. Besides, needs `console` for kind `command` and `backups` for kind `backup`. On the server, needs the role `member`.
         */
        post: operations["RunScheduleNow"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/schedules:setEnabled": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Enable or disable a schedule
         * @description Runs missed while it was disabled are not repeated. It acts for the caller who enables it, which is what the further scope is for.
         *
         *     Needs the scope `servers:write`. Besides, needs `console` for kind `command` and `backups` for kind `backup`. On the server, needs the role `member`.
         */
        post: operations["SetScheduleEnabled"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/worlds": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List worlds
         * @description The folders with a `level.dat` in the server's own folder, by name.
         *
         *     Needs the scope `servers:read`. On the server, needs the role `limited`.
         */
        get: operations["ListServerWorlds"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/worlds:setActive": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Choose the world
         * @description Sets the property `level-name`; a running game goes on in its own world until it is started anew.
         *
         *     Needs the scope `servers:write`. On the server, needs the role `member`.
         */
        post: operations["SetActiveWorld"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/worlds:delete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Delete a world
         * @description Deletes it permanently with its Nether and End. Not the active world while the server is awake.
         *
         *     Needs the scope `servers:write`. On the server, needs the role `member`.
         */
        post: operations["DeleteServerWorld"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/worlds:reset": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Reset the world
         * @description Makes a backup of the server, then removes the active world with its nether and end; the next start makes it anew. A running server is stopped for it and started again. Answers when it is done; after an error everything is as it was.
         *
         *     Needs the scope `servers:write`. On the server, needs the role `member`.
         */
        post: operations["ResetServerWorld"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/players": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get whitelist, operators, bans and who is online
         * @description The game's own lists, whatever they were changed by, in every state of the server.
         *
         *     Needs the scope `servers:read`. On the server, needs the role `limited`.
         */
        get: operations["GetPlayerLists"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/players:setWhitelistEnforced": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Turn the whitelist on or off
         * @description The property `white-list`. While it is on, nobody else wakes the server either. Told to the game where it runs, written into its files where it sleeps; not while it starts or stops. What is so already stays as it is.
         *
         *     Needs the scope `servers:write`. On the server, needs the role `member`.
         */
        post: operations["SetWhitelistEnforced"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/players:setWhitelist": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Put a player on the whitelist, or take them off
         * @description Told to the game where it runs, written into its files where it sleeps; not while it starts or stops. What is so already stays as it is.
         *
         *     Needs the scope `servers:write`. On the server, needs the role `member`.
         */
        post: operations["SetWhitelistEntry"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/players:setBan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Ban a player, or lift their ban
         * @description Who is banned does not wake the server either, and reads the reason. With `expires` it lifts itself then, whatever state the server is in. A ban in force keeps its reason and its end: to give others, lift it first. A running game's own console knows no end: to the game the end is part of the reason until it starts next. Told to the game where it runs, written into its files where it sleeps; not while it starts or stops. What is so already stays as it is.
         *
         *     Needs the scope `servers:write`. On the server, needs the role `member`.
         */
        post: operations["SetBanEntry"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/players:setIpBan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Ban an address, or lift its ban
         * @description The proxy refuses it, whether the server sleeps or runs: the game itself sees all players come from the same address. Players who are in already stay: kick them. With `expires` it lifts itself then, whatever state the server is in. A ban in force keeps its reason and its end: to give others, lift it first. A running game's own console knows no end: to the game the end is part of the reason until it starts next. Told to the game where it runs, written into its files where it sleeps; not while it starts or stops. What is so already stays as it is.
         *
         *     Needs the scope `servers:write`. On the server, needs the role `member`.
         */
        post: operations["SetIpBanEntry"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/players:setOp": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Add or remove an operator of the game
         * @description Of the level that `op-permission-level` says. Told to the game where it runs, written into its files where it sleeps; not while it starts or stops. What is so already stays as it is.
         *
         *     Needs the scope `servers:write`. On the server, needs the role `member`.
         */
        post: operations["SetOpEntry"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/players:kick": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Throw a player out
         * @description Of a running server; they may come back. To keep them out: SetBanEntry.
         *
         *     Needs the scope `console`. On the server, needs the role `member`.
         */
        post: operations["KickPlayer"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/templates": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List templates
         * @description The built-in ones, then your own, oldest first.
         *
         *     Needs the scope `servers:read`.
         */
        get: operations["ListTemplates"];
        put?: never;
        /**
         * Save a server as a template
         * @description Its settings, without its world and files.
         *
         *     Needs the scope `servers:write`.
         */
        post: operations["CreateTemplate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/templates/{templateId}:createServer": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create a server from a template
         * @description As CreateServer does, with what the template says and you override.
         *
         *     Needs the scope `servers:write`.
         */
        post: operations["CreateServerFromTemplate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/templates/{templateId}:delete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Delete a template
         * @description One of your own. Servers created from it stay as they are.
         *
         *     Needs the scope `servers:write`.
         */
        post: operations["DeleteTemplate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/members": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List members
         * @description Members of the server, then open invitations.
         *
         *     Needs the scope `members`. On the server, needs the role `owner`.
         */
        get: operations["ListMembers"];
        put?: never;
        /**
         * Invite a member
         * @description Writes to the address; a user who has verified it may accept. A `member` may do all but delete the server and see to its members, bill, database password and SFTP; a `limited` one may look, start and stop.
         *
         *     Needs the scope `members`. On the server, needs the role `owner`.
         */
        post: operations["InviteMember"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/members:setRole": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Change what a member may do
         * @description At once: what the member holds open and may no longer see ends.
         *
         *     Needs the scope `members`. On the server, needs the role `owner`.
         */
        post: operations["SetMemberRole"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers/{id}/members:remove": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Remove a member
         * @description Or take an invitation back. At once: what the member holds open on the server ends.
         *
         *     Needs the scope `members`. On the server, needs the role `owner`.
         */
        post: operations["RemoveMember"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/{accountId}/eula": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Ask for the account's consent to Minecraft's EULA
         * @description Servers of every type except the sandbox run Mojang’s software, which requires accepting its licence.
         *
         *     Needs the scope `servers:read`.
         */
        get: operations["GetEula"];
        put?: never;
        /**
         * Agree to Minecraft's EULA
         * @description Once for all servers of the account: read it first (https://aka.ms/MinecraftEULA). Until somebody has agreed, a start, a join or an installation of a server that needs it is refused: FAILED_PRECONDITION EULA_NOT_ACCEPTED.
         *
         *     Needs the scope `servers:write`.
         */
        post: operations["AcceptEula"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operator/nodes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List nodes
         * @description The machines that servers run on, what they have left, and whether they take new starts.
         *
         *     Needs the scope `operator`. Accepts an operator’s session as well.
         */
        get: operations["ListNodes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operator/nodes:drain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Drain a node
         * @description The node starts no servers and takes no new ones from now on, also after a restart of the service. Those that are awake stay awake until they stop; their owners may still restart them, which brings them to another node where there are several.
         *
         *     Needs the scope `operator`. Accepts an operator’s session as well.
         */
        post: operations["DrainNode"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operator/nodes:resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Resume a node
         * @description The node takes new starts again.
         *
         *     Needs the scope `operator`. Accepts an operator’s session as well.
         */
        post: operations["ResumeNode"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operator/nodes:fence": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Say that a node is off
         * @description You say that a node which does not answer is surely off: it has no power, or has been started anew since. Its games then start on other nodes. **Only say so where it is true**: a game that still runs there would share its world with the new one, and ruin it. A node whose network or disk is unplugged is not off: its games run on, and save when it is plugged in again. Refused for a node that answers (NODE_ANSWERS); once said, saying it again changes nothing.
         *
         *     Needs the scope `operator`. Accepts an operator’s session as well.
         */
        post: operations["FenceNode"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operator/nodes:setRegion": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Say in which region a node stands
         * @description Servers of that region start on it from now on, and no others. Those that are awake stay there until they stop. With `none` the node is kept free of games, as managers of a swarm should be. Refused where games run on one machine alone (ONE_MACHINE): its region is a setting.
         *
         *     Needs the scope `operator`. Accepts an operator’s session as well.
         */
        post: operations["SetNodeRegion"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operator/proxies": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List proxies
         * @description The processes that players connect to, including those that only keep the players they have.
         *
         *     Needs the scope `operator`. Accepts an operator’s session as well.
         */
        get: operations["ListProxies"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operator/servers/{id}:setDiskQuota": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Set a server's disk quota
         * @description Replaces the installation's quota, in MB; 0 restores that. In force at once: a running server that takes more is stopped, one that was stopped for it may wake.
         *
         *     Needs the scope `operator`. Accepts an operator’s session as well.
         */
        post: operations["SetDiskQuota"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operator/servers/{id}:suspend": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Suspend a server
         * @description Saves and stops it, and lets nothing wake it until it is unsuspended; its data stays. The owner reads the reason as `startErrorSummary`, with the code `suspended`; players read that it is closed.
         *
         *     Needs the scope `operator`. Accepts an operator’s session as well.
         */
        post: operations["SuspendServer"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operator/servers/{id}:unsuspend": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * End the suspension of a server
         * @description The server may wake again; this does not start it. Does nothing for a server that is not suspended.
         *
         *     Needs the scope `operator`. Accepts an operator’s session as well.
         */
        post: operations["UnsuspendServer"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operator/machines": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List state machines
         * @description Every server and device grant, in pages: repeat with `next` as `after` until it is empty.
         *     First those in a passing state, the longest there at the top; then failed and running servers, waiting
         *     grants, sleeping servers, and grants that are over. Read from the store: this wakes nothing.
         *
         *     Needs the scope `operator`. Accepts an operator’s session as well.
         */
        get: operations["ListMachines"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operator/machines/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Inspect any machine
         * @description As InspectMachine, for all accounts, with the stored snapshot and the events that an operator may send.
         *
         *     Needs the scope `operator`. Accepts an operator’s session as well.
         */
        get: operations["GetMachine"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operator/machines/{id}:send": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send an event to a machine
         * @description Only an event that would do something now (`legalEvents`); others are refused with FAILED_PRECONDITION EVENT_NOT_LEGAL,
         *     which names those. It is recorded in the history and in the audit log of the account, as an operator’s action, with the reason,
         *     which the owner can read. ALARM ends a wait: it does at once what its time-out would do, or retries what hangs; KILL ends the
         *     game without saving. Other facts cannot be sent: the engine is asked, not believed. Grants take DENY.
         *
         *     Needs the scope `operator`. Accepts an operator’s session as well.
         */
        post: operations["SendToMachine"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operator/machines:stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow every transition
         * @description Server-sent events `transition`, each once it is stored: `id` of the machine, `kind`, `event`, `from` and `to` (states),
         *     `fromPath` and `toPath` (places in the statechart), `cause`, `at`. A client that reads too slowly is cut off: connect
         *     again, then read the list. Pings, the end after 30 minutes and the number of streams are those of StreamServerLogs,
         *     counted apart.
         *
         *     Needs the scope `operator`. Accepts an operator’s session as well.
         */
        get: operations["StreamMachines"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operator/clients": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List apps
         * @description The registered third-party apps, oldest first, disabled ones too.
         *
         *     Needs the scope `operator`. Accepts an operator’s session as well.
         */
        get: operations["ListClients"];
        put?: never;
        /**
         * Register an app
         * @description Gives a third-party app the `client_id` with which it may start device grants.
         *
         *     Needs the scope `operator`. Accepts an operator’s session as well.
         */
        post: operations["RegisterClient"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operator/clients/{clientId}:disable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Disable an app
         * @description From now on it gets no grant, those in progress end, and its tokens are refused.
         *
         *     Needs the scope `operator`. Accepts an operator’s session as well.
         */
        post: operations["DisableClient"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operator/clients/{clientId}:enable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Enable an app
         * @description It may start grants again, and the tokens that it has are good again.
         *
         *     Needs the scope `operator`. Accepts an operator’s session as well.
         */
        post: operations["EnableClient"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operator/accounts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List accounts
         * @description Accounts by id, in pages: repeat with the last id as `after` until the list is empty.
         *
         *     Needs the scope `operator`. Accepts an operator’s session as well.
         */
        get: operations["ListAccounts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operator/accounts/{accountId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read an account
         * @description With its servers, and the limits that were set for it alone.
         *
         *     Needs the scope `operator`. Accepts an operator’s session as well.
         */
        get: operations["GetAccount"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operator/accounts/{accountId}:credit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Change an account's balance
         * @description Books a credit, a refund or an adjustment, signed, with a note that the owner reads in the ledger. With a `ref`, a repeated call changes nothing.
         *
         *     Needs the scope `operator`. Accepts an operator’s session as well.
         */
        post: operations["CreditAccount"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operator/accounts/{accountId}:setLimits": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Set an account's limits
         * @description An absent limit stays unchanged; -1: the installation’s default. Running servers keep running.
         *
         *     Needs the scope `operator`. Accepts an operator’s session as well.
         */
        post: operations["SetAccountLimits"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operator/accounts:invite": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Invite someone to create an account
         * @description Makes a link by which this e-mail address can make an account within seven days, once, also where sign-up is closed, and sends it there. Where no mail is set up nothing is sent: pass the link on. An earlier invitation to the address ends. The address counts as verified once the link is used.
         *
         *     Needs the scope `operator`. Accepts an operator’s session as well.
         */
        post: operations["InviteAccount"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operator/invitations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List open invitations
         * @description Invited addresses without an account yet, newest first.
         *
         *     Needs the scope `operator`. Accepts an operator’s session as well.
         */
        get: operations["ListAccountInvitations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operator/invitations/{invitationId}:cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Take an invitation back
         * @description Its link stops working.
         *
         *     Needs the scope `operator`. Accepts an operator’s session as well.
         */
        post: operations["CancelAccountInvitation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operator/accounts/{accountId}:setOperator": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Add or remove an operator
         * @description Its user may run this installation from now on, or may not any more, with open sessions and keys too. Only for a session whose password was given in the last quarter of an hour (`ProvePassword`): a leaked key gets no further.
         *
         *     Needs the scope `operator`. Accepts an operator’s session as well.
         */
        post: operations["SetAccountOperator"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operator/accounts/{accountId}:makeResetLink": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create a password reset link
         * @description Makes a link with which the account’s user chooses another password within a day, once, and sends it to their address; where no mail is set up, pass it on. Until then nothing changes. Only for a session whose password was given in the last quarter of an hour (`ProvePassword`): a leaked key gets no further.
         *
         *     Needs the scope `operator`. Accepts an operator’s session as well.
         */
        post: operations["MakeResetLink"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operator/accounts/{accountId}:removeSecondFactor": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Switch an account's second factor off
         * @description For a user who has lost their app and their recovery codes: verify their identity first. From then on the password alone signs them in. An e-mail tells them the reason. Only for a session whose password was given in the last quarter of an hour (`ProvePassword`): a leaked key gets no further.
         *
         *     Needs the scope `operator`. Accepts an operator’s session as well.
         */
        post: operations["RemoveAccountSecondFactor"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operator/ledger:reconcile": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Hold wallets against the ledger
         * @description Lists the accounts whose wallet differs from the sum of their ledger. The list is empty unless the database was edited.
         *
         *     Needs the scope `operator`. Accepts an operator’s session as well.
         */
        post: operations["ReconcileLedger"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operator/orphans": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List orphans
         * @description Games, databases, data and backups on this node that belong to no server, and backups off site that belong to nothing here, as after a lost database. Games without a server are also ended by the service itself, and databases removed once their server can be reached; files are kept until an operator removes them.
         *
         *     Needs the scope `operator`. Accepts an operator’s session as well.
         */
        get: operations["ListOrphans"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operator/orphans:remove": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Remove an orphan
         * @description Removes it for good. Only what the list names; a running game must be removed before its files. A database is removed automatically.
         *
         *     Needs the scope `operator`. Accepts an operator’s session as well.
         */
        post: operations["RemoveOrphan"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Figures for Prometheus
         * @description In its text format.
         *
         *     Needs the scope `operator`. Accepts an operator’s session as well. The API key may also be sent as a Bearer token.
         */
        get: operations["Metrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/session/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the signed-in user
         * @description The user of this browser's session, and the token its changes need.
         */
        get: operations["GetMe"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/session/me:requestSignUp": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Request a sign-up link
         * @description If sign-up is open and e-mail is set up, sends the link for SignUp to the address. An address that has an account gets another e-mail; the answer is the same.
         */
        post: operations["RequestSignUp"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/session/me:signUp": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create an account
         * @description Creates a user with their own account, signs them in, and e-mails a link to verify the address. If sign-up is closed, it requires the token of an operator’s invitation for the address (`InviteAccount`); if e-mail is set up, that of a link sent by RequestSignUp.
         */
        post: operations["SignUp"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/session/me:signIn": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Sign in
         * @description Opens a session, kept by the browser as a cookie. Tries are slowed down, never locked out. Of a user with a second factor a code is asked for next: UNAUTHENTICATED with the reason CODE_REQUIRED, and `SignInWithCode`.
         */
        post: operations["SignIn"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/session/me:signInWithCode": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Sign in: the code
         * @description The second step of `SignIn`, with the same browser, within ten minutes: a cookie shows that it has given the password. Tries are slowed down, for each account.
         */
        post: operations["SignInWithCode"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/session/me:signOut": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Sign out
         * @description Ends this session.
         */
        post: operations["SignOut"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/session/me:changePassword": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Change the password
         * @description Ends all other sessions. API keys and connected apps stay: revoke them where that is meant.
         */
        post: operations["ChangePassword"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/session/me:provePassword": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Give the password once more
         * @description For a quarter of an hour this session may then make keys and let a command line in, as after a sign-in. Tries are slowed down like those of a sign-in.
         */
        post: operations["ProvePassword"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/session/me:sendVerification": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send the e-mail again
         * @description Sends the verification link again, unless the address is verified.
         */
        post: operations["SendVerification"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/session/me:verifyEmail": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Verify an e-mail address
         * @description Accepts the token of the link in the e-mail. It works once, for a day, in any browser. A token sent by ChangeEmail changes the user’s address to its own.
         */
        post: operations["VerifyEmail"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/session/me:requestPasswordReset": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Ask for a link to choose a new password with
         * @description Sends a link to the address if it has an account. The answer is always the same. The link works for half an hour, once, for ResetPassword.
         */
        post: operations["RequestPasswordReset"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/session/me:resetPassword": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Choose a new password
         * @description Accepts the token of the link. All sessions of the user end; sign in again. API keys, connected apps and the second factor stay. An e-mail confirms it.
         */
        post: operations["ResetPassword"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/session/me:changeEmail": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Change the e-mail address
         * @description Sends a link to the new address. The address changes once the link is opened (VerifyEmail accepts its token, for a day), and an e-mail notifies the old one. Sessions, API keys and connected apps stay. An address that has an account gets an e-mail that says so; the answer is the same. If e-mail is not set up, the address changes at once, unverified.
         */
        post: operations["ChangeEmail"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/session/secondFactor": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the second factor
         * @description Whether signing in asks for a code of an app too (TOTP, RFC 6238).
         */
        get: operations["GetSecondFactor"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/session/secondFactor:begin": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Begin to set up a second factor
         * @description Gives a key for an authenticator app. Signing in is as before until `ConfirmSecondFactor`. PASSWORD_REQUIRED where the password was given more than a quarter of an hour ago: `ProvePassword` first.
         */
        post: operations["BeginSecondFactor"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/session/secondFactor:confirm": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Switch the second factor on
         * @description With a code, to show that the app has the key. Signing in asks for a code from then on, and all other sessions end. API keys and connected apps stay. PASSWORD_REQUIRED as for `BeginSecondFactor`.
         */
        post: operations["ConfirmSecondFactor"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/session/secondFactor:remove": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Turn off two-factor sign-in
         * @description Requires the password and a code.
         */
        post: operations["RemoveSecondFactor"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/session/secondFactor:renewRecoveryCodes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create new recovery codes
         * @description The old codes stop working. Requires the password and a code.
         */
        post: operations["RenewRecoveryCodes"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/session/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List sessions
         * @description Your sessions, last used first.
         */
        get: operations["ListSessions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/session/sessions:end": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * End a session
         * @description Its browser is signed out at its next call.
         */
        post: operations["EndSession"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/session/sessions:endOthers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * End all other sessions
         * @description Leaves only the session of this call.
         */
        post: operations["EndOtherSessions"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/session/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List API keys
         * @description The account’s active keys, oldest first. The key itself is shown only when it is created.
         */
        get: operations["ListKeys"];
        put?: never;
        /**
         * Make an API key
         * @description The key is in the reply, and is never shown again. PASSWORD_REQUIRED where the password was given more than a quarter of an hour ago: see `ProvePassword`.
         */
        post: operations["MintKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/session/keys:revoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Revoke an API key
         * @description Its next call is refused, and what it holds open ends.
         */
        post: operations["RevokeKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/session/sshKeys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List SSH keys
         * @description The public keys you sign in to SFTP with, in the order they were added.
         */
        get: operations["ListSshKeys"];
        put?: never;
        /**
         * Add an SSH key
         * @description It opens SFTP of every server of your account where SFTP is on, under the server’s SFTP name, in place of the password. PASSWORD_REQUIRED as for `MintKey`.
         */
        post: operations["AddSshKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/session/sshKeys:remove": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Remove an SSH key
         * @description What is open with it ends at once.
         */
        post: operations["RemoveSshKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/session/apps": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List connected apps
         * @description The apps you have let in, in the order you did.
         */
        get: operations["ListConnectedApps"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/session/apps:revoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Disconnect an app
         * @description Its next call is refused.
         */
        post: operations["DisconnectApp"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/session/invitations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List invitations
         * @description Your open invitations to servers, newest first; empty until your address is verified.
         */
        get: operations["ListInvitations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/session/invitations:accept": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Accept an invitation
         * @description The server is among your shared ones from now on.
         */
        post: operations["AcceptInvitation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/session/invitations:decline": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Decline an invitation
         * @description Or leave a server whose invitation you have accepted.
         */
        post: operations["DeclineInvitation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/session/device:lookUp": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Look a code up
         * @description Who waits under the code that a device shows, and for what. Changes nothing.
         */
        post: operations["LookUpDevice"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/session/device:approve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Let a device in
         * @description It gets its token with its next poll. The command line, which gets full access, is let in only by who has given the password lately (`ProvePassword`).
         */
        post: operations["ApproveDevice"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/session/device:deny": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Decline a device
         * @description It is told so with its next poll.
         */
        post: operations["DenyDevice"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The process answers
         * @description Checks no part of the service.
         */
        get: operations["Health"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Every part of the service works
         * @description Says part by part which does and which does not. A standby has one part that does not, `lease`, and says in `reason` who holds it.
         */
        get: operations["Readiness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/public/status/{publicSlug}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A server as its owner shows it to everybody
         * @description For servers whose owner enabled it by SetPublicStatus; 404 for all others. Never wakes a server. The same as a page at `/status/{publicSlug}`, as a badge at `/status/{publicSlug}/badge.svg`. Limited by address; may be 10 s old.
         */
        get: operations["GetPublicStatus"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/public/device/start": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Start a device grant
         * @description RFC 8628 §3.2 with a JSON body of at most 4 KiB. `{}` is for the command line’s own grant, which yields an API key of full scope; other fields without `client_id` are refused. At most 20 an hour by client address.
         */
        post: operations["StartDevice"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/public/device/poll": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Ask for the token
         * @description RFC 8628 §3.4 with a JSON body. The token is given once; where its answer was cut off, the same one is given again within a minute. On `slow_down` add 5 s to the interval.
         */
        post: operations["PollDevice"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/oauth/device_authorization": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Start a device grant, as RFC 8628 has it
         * @description RFC 8628 §3.1, for registered apps. Shares its limit with `/v1/public/device/start`.
         */
        post: operations["DeviceAuthorization"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/oauth/token": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Ask for the token, as RFC 8628 has it
         * @description RFC 8628 §3.4, for registered apps.
         */
        post: operations["DeviceToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/oauth/revoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * End a token, as RFC 7009 has it
         * @description RFC 7009 §2.1, for an app that signs its user out. A token that is none is answered alike.
         */
        post: operations["RevokeToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/.well-known/oauth-authorization-server": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * OAuth metadata (RFC 8414)
         * @description All that an OAuth library needs to know of the device grant here.
         */
        get: operations["OAuthMetadata"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/public/checkout/{provider}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * What a payment provider reports
         * @description For the webhook of the configured provider, at most 256 KiB. Answered with `{}` once it is stored or of no concern; told again, it changes nothing.
         */
        post: operations["CheckoutCallback"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * This document
         * @description Generated from the operations. The version for people is `/docs`.
         */
        get: operations["OpenApi"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description google.rpc.Status; the first detail is a google.rpc.ErrorInfo. */
        ErrorStatus: {
            /**
             * Format: int32
             * @default 0
             */
            code: number;
            /** @default  */
            message: string;
            /** @default [] */
            details: ({
                "@type": string;
            } & {
                [key: string]: unknown;
            })[];
        };
        WhoAmIResponse: {
            /**
             * @description Account of the key; empty for an app token.
             * @default
             */
            accountId: string;
            /** @default  */
            email: string;
            /** @default false */
            emailVerified: boolean;
        };
        ListMyServersResponse: {
            /** @default [] */
            my: components["schemas"]["ServerSummary"][];
            /** @default [] */
            shared: components["schemas"]["ServerSummary"][];
        };
        ServerSummary: {
            /** @default  */
            id: string;
            /**
             * @description The address for players.
             * @default
             */
            address: string;
            /** @default  */
            state: string;
            /** @default  */
            type: string;
            /** @default  */
            version: string;
            /** @default  */
            region: string;
            /**
             * @description What you are on it: `owner`, `member` or `limited`.
             * @default
             */
            role: string;
            /**
             * Format: int32
             * @description Absent: there is no live reading.
             */
            playersOnline?: number;
            /** @description As GetServer has it. Not told to apps, like all that follows. */
            name?: string;
            /** Format: int32 */
            ramMb?: number;
            /**
             * Format: date-time
             * @description When it was woken; absent while it sleeps.
             */
            awakeSince?: string;
            /** @description The cause of the wake. On a shared server, `id` is empty if it names another user, key or operator. */
            cause?: {
                /**
                 * @description `key`, `user`, `player`, `schedule`, `operator` or `system`.
                 * @default
                 */
                kind: string;
                /** @default  */
                id: string;
                /** @default  */
                note: string;
            };
        };
        Wallet: {
            /** @default  */
            accountId: string;
            /**
             * Format: int64
             * @description Millionths of the currency.
             */
            balanceMicros: string;
        };
        ListLedgerResponse: {
            /** @default [] */
            entries: components["schemas"]["LedgerEntry"][];
        };
        LedgerEntry: {
            /** Format: int64 */
            id: string;
            /** @default  */
            accountId: string;
            /**
             * @description Empty if it is not about a server.
             * @default
             */
            serverId: string;
            /**
             * @description `usage`, `flat`, `topup`, `credit`, `refund` or `adjustment`; more may come.
             * @default
             */
            kind: string;
            /**
             * Format: int64
             * @description Negative if spent.
             */
            amountMicros: string;
            /** @default  */
            note: string;
            /** Format: date-time */
            ts: string | null;
        };
        AccountLimits: {
            /**
             * Format: int32
             * @default 0
             */
            maxRamMb: number;
        };
        CreateCheckoutLinkRequest: {
            /**
             * Format: int32
             * @description Whole US dollars.
             */
            amountUsd: number;
        };
        CreateCheckoutLinkResponse: {
            /** @default  */
            checkoutUrl: string;
        };
        SpendCap: {
            /**
             * Format: int64
             * @description Per calendar month, UTC; 0: no cap.
             */
            monthlyMicros: string;
            /**
             * Format: int64
             * @description Of this month so far.
             */
            spentMicros: string;
            /**
             * @description `notify` or `stop`.
             * @default
             */
            action: string;
            /**
             * Format: int64
             * @description What the awake servers cost; flat ones by their share of 30 days.
             */
            burnMicrosPerHour: string;
            /**
             * Format: int32
             * @description Until the wallet runs out at the current rate; -1: no spending.
             * @default 0
             */
            runwayMinutes: number;
            /**
             * @description The servers that burn it.
             * @default []
             */
            awake: {
                /** @default  */
                serverId: string;
                /** @default  */
                plan: string;
                /**
                 * Format: int64
                 * @description Of a flat server its share of 30 days, rounded up.
                 */
                microsPerHour: string;
            }[];
            /**
             * @description The cost of each existing server this month; servers without cost are left out.
             * @default []
             */
            servers: {
                /** @default  */
                serverId: string;
                /** Format: int64 */
                spentMicros: string;
            }[];
            /**
             * Format: int64
             * @description Price of a GB of RAM (1024 MB) on the metered plan, per hour awake.
             */
            perGbHourMicros: string;
            /**
             * Format: int64
             * @description The same on the flat plan, per 30 days.
             */
            perGbMonthMicros: string;
            /**
             * @description The payment provider of CreateCheckoutLink: `test`, `stripe`; empty: ask the operator for credit.
             * @default
             */
            checkout: string;
        };
        SetSpendCapRequest: {
            /**
             * Format: int64
             * @description 0: no cap.
             */
            monthlyMicros?: string;
            /** @enum {string} */
            action?: "notify" | "stop";
        };
        AccountAuditList: {
            /** @default [] */
            entries: components["schemas"]["AuditEntry"][];
        };
        AuditEntry: {
            /**
             * @description Whose log it is in.
             * @default
             */
            accountId: string;
            /**
             * @description Empty if no user did it: a player, a schedule, the service itself.
             * @default
             */
            userId: string;
            /**
             * @description `server.start`, `server.wake`, `key.mint`, `member.invite`, …; more may come.
             * @default
             */
            action: string;
            /**
             * @description Through what it was done (`key key_…`, `session`, `player Steve`), then what exactly.
             * @default
             */
            detail: string;
            /**
             * @description RFC 3339.
             * @default
             */
            createdAt: string;
        };
        CapacityResponse: {
            /**
             * Format: int32
             * @description Awake, waking or going to sleep.
             * @default 0
             */
            activeServers: number;
            /**
             * Format: double
             * @default 0
             */
            coresUsable: number;
            /**
             * Format: double
             * @description Promised to awake servers. Servers share cores, so this may be more than there are.
             * @default 0
             */
            coresUsed: number;
            /**
             * Format: double
             * @description The most that one server gets.
             * @default 0
             */
            cpusPerServer: number;
            /**
             * Format: int64
             * @description For games: what the system and the service need is left out.
             */
            ramUsableMb: string;
            /**
             * Format: int64
             * @description Reserved by awake servers.
             */
            ramUsedMb: string;
            /** Format: int64 */
            diskFreeMb: string;
            /**
             * Format: int64
             * @description 0: could not be read.
             */
            diskTotalMb: string;
            /**
             * Format: int32
             * @description The caller's; 0: no limit.
             * @default 0
             */
            maxServersPerAccount: number;
            /**
             * @description CPU time by RAM, up to each; the last is for all above as well.
             * @default []
             */
            cpuTiers: components["schemas"]["CpuTier"][];
            /**
             * Format: int64
             * @description The most that one server can have: of several machines, what the largest has.
             */
            ramPerServerMb: string;
            /**
             * @description Whether servers can start here: the engine responds, and a machine accepts them.
             * @default false
             */
            available: boolean;
        };
        CpuTier: {
            /** Format: int64 */
            ramMb: string;
            /**
             * Format: double
             * @description The most CPU time, in cores.
             * @default 0
             */
            cpus: number;
        };
        ListRegionsResponse: {
            /** @default [] */
            regions: components["schemas"]["RegionInfo"][];
        };
        RegionInfo: {
            /** @default  */
            region: string;
            /**
             * @description For people.
             * @default
             */
            label: string;
            /**
             * @description A machine there can be reached and starts servers.
             * @default false
             */
            available: boolean;
            /** @description All zero if not available. */
            capacity: components["schemas"]["CapacityResponse"];
        };
        ListMinecraftVersionsResponse: {
            /**
             * @description Newest first.
             * @default []
             */
            versions: string[];
            /**
             * @description Latest release.
             * @default
             */
            latest: string;
            /**
             * @description The cores available for your servers, with the releases each supports.
             * @default []
             */
            cores: {
                /** @default  */
                type: string;
                /** @default [] */
                versions: string[];
            }[];
        };
        ListServersResponse: {
            /** @default [] */
            servers: components["schemas"]["Server"][];
            /** @description Of a page: where the next one begins; empty: this was the last. A key for some servers may find fewer than `limit` on it. */
            next?: string;
        };
        Server: {
            /**
             * @description A slug; also the first label of its host name.
             * @default
             */
            id: string;
            /** @default  */
            name: string;
            /**
             * @description First label of the address.
             * @default
             */
            hostname: string;
            /**
             * @description Owning account.
             * @default
             */
            accountId: string;
            /**
             * @description Where players connect. With PUBLIC_HOST=localhost, the server that needs no name (DEFAULT_SERVER, or the oldest) is at localhost itself.
             * @default
             */
            addr: string;
            /**
             * @description What Docker calls its container, or a Swarm its service. Where games run as processes there is neither, and this is what was given at creation.
             * @default
             */
            container: string;
            /**
             * @description `hibernated`, `starting`, `running`, `stopping`, `installing`, `install_failed` or `start_failed`; more may come.
             * @default
             */
            state: string;
            /**
             * @description Core type.
             * @default
             */
            type: string;
            /**
             * @description Minecraft version.
             * @default
             */
            version: string;
            /**
             * Format: int32
             * @default 0
             */
            ramMb: number;
            /**
             * @description `metered` or `flat`.
             * @default
             */
            plan: string;
            /** @default  */
            region: string;
            /** @default  */
            nodeLabel: string;
            /**
             * @description Applies on next start; empty: the default.
             * @default
             */
            motd: string;
            /**
             * @description Editable subset of server.properties; applies on next start.
             * @default {}
             */
            properties: {
                [key: string]: string;
            };
            /**
             * Format: int32
             * @description 0: the node's default.
             * @default 0
             */
            idleTimeoutMinutes: number;
            /**
             * @description Empty: alerts are off.
             * @default
             */
            alertWebhookUrl: string;
            /**
             * Format: date-time
             * @description First successful boot; null: the world is still being prepared.
             */
            bakedAt: string | null;
            /** Format: date-time */
            createdAt: string | null;
            /** Format: date-time */
            updatedAt: string | null;
            /** Format: date-time */
            lastActiveAt: string | null;
            /** @default [] */
            ports: components["schemas"]["PortMapping"][];
            /** @default  */
            modpackPlatform: string;
            /** @default  */
            modpackRef: string;
            /** @default  */
            modpackVersion: string;
            /** @default  */
            installError: string;
            /** @default  */
            installErrorCode: string;
            /** @default  */
            installErrorSummary: string;
            /** @default  */
            installErrorSuggestion: string;
            /**
             * @description Last lines of the failed start; empty without one.
             * @default
             */
            startError: string;
            /** @default  */
            startErrorCode: string;
            /**
             * @description Title, then detail.
             * @default
             */
            startErrorSummary: string;
            /** @default  */
            startErrorSuggestion: string;
            /**
             * @description While `starting`: `starting`, `loading_mods`, `generating_world` or `ready`; else empty.
             * @default
             */
            startupPhase: string;
            /**
             * Format: int32
             * @description While `starting`: of world generation; 100 while running; else 0.
             * @default 0
             */
            startupPercent: number;
            /**
             * Format: int64
             * @description The larger of what is allocated and the lengths of the files; as last measured.
             */
            diskUsageMb: string;
            /**
             * @description False: never measured.
             * @default false
             */
            diskUsageKnown: boolean;
            /**
             * Format: int64
             * @description Set by an operator; 0 = none.
             */
            diskQuotaOverrideMb: string;
            /**
             * Format: int64
             * @description In force; 0: no quota.
             */
            diskQuotaEffectiveMb: string;
            /**
             * @description It takes more than its quota, or the servers of its account take more together than they may: it is stopped if it goes on to grow, and does not start before space is freed.
             * @default false
             */
            quotaExceeded: boolean;
            /** @default false */
            sftpEnabled: boolean;
            /** @default false */
            publicStatusEnabled: boolean;
            /** @default false */
            publicShowAddress: boolean;
            /** @default  */
            publicSlug: string;
            /**
             * @description Experimental: players are shown its start while they wait.
             * @default false
             */
            waitingRoom: boolean;
            /**
             * @description Which clients can play: `auto`, `own` or `any` version. See UpdateServer.
             * @default
             */
            clientVersions: string;
            /**
             * Format: int32
             * @description While `starting`: what is left as its starts usually go; 0: not known.
             * @default 0
             */
            startupEtaSeconds: number;
        };
        PortMapping: {
            /**
             * Format: int32
             * @default 0
             */
            slot: number;
            /**
             * Format: int32
             * @description Port inside the container.
             * @default 0
             */
            containerPort: number;
            /**
             * Format: int32
             * @description Derived, display only.
             * @default 0
             */
            hostPort: number;
            /**
             * @description `tcp` or `udp`.
             * @default
             */
            proto: string;
            /** @default  */
            label: string;
            /**
             * @description Where strangers reach `hostPort`. Of several machines, the one that the game is on: it may be another one after each start, and empty means that there is none now.
             * @default
             */
            host: string;
        };
        CreateServerRequest: {
            /**
             * @description Empty: derived from the name.
             * @default
             */
            id?: string;
            /** @description For people. */
            name: string;
            /**
             * @description First label of the address; empty: the id.
             * @default
             */
            hostname?: string;
            /**
             * @description A label, where games run as processes; empty: the id. Containers are named by the service.
             * @default
             */
            container?: string;
            /**
             * @description Ignored; the address follows from the host name.
             * @default
             */
            addr?: string;
            /**
             * @description Empty or the caller's.
             * @default
             */
            accountId?: string;
            /**
             * Format: int32
             * @description At least 512 for all but the sandbox.
             */
            ramMb: number;
            /**
             * @description Core type; empty: `sandbox`. `custom` runs the `server.jar` that is uploaded.
             * @default
             */
            type?: string;
            /**
             * @description Minecraft version; may be empty for the sandbox and with a mod pack.
             * @default
             */
            version?: string;
            /**
             * @description `metered` (default) or `flat`.
             * @default
             */
            plan?: string;
            /**
             * @description Empty: the installation's.
             * @default
             */
            region?: string;
            /**
             * @description As by SetServerMotd.
             * @default
             */
            motd?: string;
            /** @description Subset of server.properties. */
            properties?: {
                [key: string]: string;
            };
            /**
             * @description `modrinth`, `curseforge` or `ftb`.
             * @default
             */
            modpackPlatform?: string;
            /** @default  */
            modpackRef?: string;
            /**
             * @description Id of a version; empty: the newest when it is installed.
             * @default
             */
            modpackVersion?: string;
        };
        EmptyReply: Record<string, never>;
        Empty: Record<string, never>;
        UpdateServerVersionRequest: {
            /** @description Core type. */
            type?: string;
            /** @description Minecraft version. */
            version?: string;
        };
        SetServerPropertiesRequest: {
            /**
             * Format: int32
             * @description 0: the node's default.
             */
            idleTimeoutMinutes?: number;
            /** @description Subset of server.properties; empty: all defaults. */
            properties?: {
                [key: string]: string;
            };
        };
        SetServerMotdRequest: {
            /** @default  */
            motd?: string;
        };
        SetServerAlertWebhookRequest: {
            /** @default  */
            url?: string;
            /**
             * @description Sends a test alert there, within seconds, as any other alert is sent.
             * @default false
             */
            test?: boolean;
        };
        SetPublicStatusRequest: {
            /** @default false */
            enabled?: boolean;
            /** @default false */
            showAddress?: boolean;
        };
        UpdateServerRequest: {
            name?: string;
            /** Format: int32 */
            ramMb?: number;
            /** @description `metered` or `flat`. */
            plan?: string;
            /** @description Experimental. */
            waitingRoom?: boolean;
            /** @enum {string} */
            clientVersions?: "auto" | "own" | "any";
        };
        SetWakePolicyRequest: {
            /**
             * @description `anyone`; `known`: who is on the whitelist, an operator or has played here; `whitelist`; `verified`: who has proved a Minecraft account to the proxy; `nobody`.
             * @enum {string}
             */
            mode?: "anyone" | "known" | "whitelist" | "verified" | "nobody";
            /**
             * Format: int32
             * @description By joins, counted from midnight UTC; 0: no cap.
             */
            maxWakesPerDay?: number;
            /** @description Shown in the server list while asleep; empty: the usual. */
            asleepMotd?: string;
            /** @description Unless empty, joining does not wake the server and players get this message. */
            maintenanceText?: string;
        };
        WakePolicy: {
            /**
             * @description `anyone`; `known`: who is on the whitelist, an operator or has played here; `whitelist`; `verified`: who has proved a Minecraft account to the proxy; `nobody`.
             * @default
             */
            mode: string;
            /**
             * Format: int32
             * @default 0
             */
            maxWakesPerDay: number;
            /** @default  */
            asleepMotd: string;
            /** @default  */
            maintenanceText: string;
        };
        AddServerPortRequest: {
            /**
             * Format: int32
             * @description Where the game listens.
             */
            containerPort: number;
            /** @default  */
            label?: string;
            /** @enum {string} */
            proto: "tcp" | "udp";
        };
        RemoveServerPortRequest: {
            /** Format: int32 */
            slot: number;
        };
        RunCommandRequest: {
            command: string;
        };
        RunCommandResponse: {
            /**
             * @description The reply of RCON.
             * @default
             */
            output: string;
        };
        GetServerLogsResponse: {
            /**
             * @description Oldest first.
             * @default []
             */
            lines: string[];
            /**
             * @description Pass it back to receive only lines newer than these.
             * @default
             */
            cursor: string;
            /**
             * @description There is no running container.
             * @default false
             */
            containerMissing: boolean;
        };
        ServerMetrics: {
            /**
             * Format: double
             * @description -1: unknown.
             * @default -1
             */
            cpuPercent: number;
            /**
             * Format: double
             * @default 0
             */
            memUsedMb: number;
            /**
             * Format: double
             * @description 0: there is no reading.
             * @default 0
             */
            memLimitMb: number;
            /**
             * Format: double
             * @description Milliseconds per tick; 0: not reported by the game.
             * @default 0
             */
            mspt: number;
            /**
             * Format: double
             * @description Ticks a second, at most 20; 0: the game did not say.
             * @default 0
             */
            tps: number;
            /**
             * Format: int32
             * @default 0
             */
            players: number;
            /**
             * @description The game itself answered recently.
             * @default false
             */
            live: boolean;
            /**
             * Format: date-time
             * @description Start of the current slowness (the alert `tps.low`); null if it is not slow.
             */
            slowSince: string | null;
            /**
             * @description One for each minute in which it ran, of the last 24 h, oldest first.
             * @default []
             */
            series: components["schemas"]["MetricSample"][];
            /**
             * @description False: `tps` and `mspt` are not available and stay 0, and no alert of low TPS is ever sent. Paper and its like, Forge, NeoForge and the sandbox tell their pace in any version, all others from Minecraft 1.20.3 on.
             * @default false
             */
            ticksAvailable: boolean;
        };
        MetricSample: {
            /** Format: date-time */
            ts: string;
            /**
             * Format: double
             * @description -1: unknown.
             * @default -1
             */
            cpuPercent: number;
            /**
             * Format: double
             * @default 0
             */
            memUsedMb: number;
            /**
             * Format: double
             * @description 0: there is no reading.
             * @default 0
             */
            memLimitMb: number;
            /**
             * Format: double
             * @description Milliseconds per tick; 0: not reported by the game.
             * @default 0
             */
            mspt: number;
            /**
             * Format: double
             * @description Ticks a second, at most 20; 0: the game did not say.
             * @default 0
             */
            tps: number;
            /**
             * Format: int32
             * @default 0
             */
            players: number;
        };
        ServerAuditList: {
            /** @default [] */
            entries: components["schemas"]["AuditEntry"][];
        };
        /** @description Has no id. Events before it are missing. */
        GapEvent: {
            /** Format: date-time */
            at: string;
        };
        StateEvent: {
            /** Format: date-time */
            at: string;
            /** @description As in Server. */
            state: string;
            /** @description The cause, as in InspectMachine. */
            cause: {
                kind: string;
                id: string;
                note: string;
            };
            /** @description While it starts; otherwise empty. */
            phase: string;
            /** @description 100 while it runs. */
            percent: number;
            /** @description Null: not known. */
            players: number | null;
            /** @description Set if it failed. */
            error: {
                code: string;
                summary: string;
                suggestion: string;
            } | null;
            /** @description Set while its machine does not answer: since when, and which. Null again once it goes on. */
            waits: {
                node: string;
                /** Format: date-time */
                since: string;
            } | null;
            /** @description Set while an operator has suspended it, whatever its state. Null again once it may wake. */
            suspended: {
                reason: string;
                /** Format: date-time */
                since: string;
            } | null;
            /** @description With the first event of a stream. */
            quota?: {
                diskUsageMb: number;
                diskQuotaEffectiveMb: number;
                quotaExceeded: boolean;
            };
            /** @description With the first: the open one. */
            alert?: {
                alert: string;
                /** Format: date-time */
                at: string;
            } | null;
        };
        ProgressEvent: {
            /** Format: date-time */
            at: string;
            /** @description In the last one `ready`. */
            phase: string;
            percent: number;
        };
        PlayersEvent: {
            /** Format: date-time */
            at: string;
            online: number;
        };
        TickEvent: {
            /** Format: date-time */
            at: string;
            /** Format: double */
            tps: number;
            /** Format: double */
            mspt: number;
            /** Format: double */
            cpuPercent: number;
            /** Format: double */
            memUsedMb: number;
            /** Format: double */
            memLimitMb: number;
            players: number;
            live: boolean;
        };
        QuotaEvent: {
            /** Format: date-time */
            at: string;
            diskUsageMb: number;
            diskQuotaEffectiveMb: number;
            quotaExceeded: boolean;
        };
        BackupEvent: {
            /** Format: date-time */
            at: string;
            id: string;
            /** @description `queued`, `running`, `ready`, `failed`, `restoring`, `restored` or `deleted`. */
            state: string;
            percent: number;
            error?: string;
        };
        AlertEvent: {
            /** Format: date-time */
            at: string;
            /** @description `tps.low`, `tps.recovered`, `tps.ended`, `game.hung` or `stop.forced`. */
            alert: string;
            /** Format: double */
            tps?: number;
            /** Format: double */
            mspt?: number;
            players?: number;
            slowSeconds?: number;
        };
        DiagnosticList: {
            /** @default [] */
            entries: components["schemas"]["Diagnostic"][];
        };
        Diagnostic: {
            /** Format: date-time */
            at: string | null;
            /**
             * @description `install`, `start`, `crash` or `stop`.
             * @default
             */
            kind: string;
            /**
             * @description As in `startErrorCode` and `installErrorCode`.
             * @default
             */
            code: string;
            /**
             * @description Title, then detail.
             * @default
             */
            summary: string;
            /** @default  */
            suggestion: string;
            /**
             * @description The lines of the log around the cause.
             * @default []
             */
            evidence: string[];
            /**
             * @description All findings in the log, most important first: each missing mod, for example. Empty without findings.
             * @default []
             */
            insights: components["schemas"]["Insight"][];
        };
        Insight: {
            /**
             * @description As in `startErrorCode` and `installErrorCode`.
             * @default
             */
            code: string;
            /**
             * @description The mod, plugin, file or version concerned; empty without one.
             * @default
             */
            subject: string;
            /**
             * @description Title, then detail.
             * @default
             */
            summary: string;
            /** @default  */
            suggestion: string;
            /**
             * @description The lines of the log that show it, at most five.
             * @default []
             */
            evidence: string[];
        };
        Machine: {
            /**
             * @description As GetServer has it, but for `maintaining`: its files are being worked on, as by a backup's restore. To others it sleeps.
             * @default
             */
            state: string;
            /**
             * @description Path in the statechart: `stopping.halting`.
             * @default
             */
            path: string;
            /**
             * Format: date-time
             * @description When the state was entered.
             */
            since: string | null;
            /**
             * @description The work on its files that is done, or waits for it to stop.
             * @default null
             */
            job: {
                /**
                 * @description `backup.restore`, `world.reset` or `world.delete`.
                 * @default
                 */
                kind: string;
                /**
                 * @description The backup or the world.
                 * @default
                 */
                target: string;
            } | null;
            /**
             * @description Why the last work on its files was given up, which left them as they were; else empty.
             * @default
             */
            jobError: string;
            /**
             * @description Commands that would be taken now.
             * @default []
             */
            allowedEvents: string[];
            /** @default [] */
            deadlines: {
                /**
                 * @description A state, which is given up then; `keepAwake`: before, it is not let to sleep; `idle`, `falseWake`: it goes to sleep if nobody comes.
                 * @default
                 */
                name: string;
                /** Format: date-time */
                at: string | null;
            }[];
            /**
             * @description The last 50, newest first.
             * @default []
             */
            transitions: {
                /** Format: date-time */
                at: string | null;
                /**
                 * @description `BOOT_DONE` and `BOOT_FAILED`: an effect of the machine has ended.
                 * @default
                 */
                event: string;
                /** @default  */
                from: string;
                /** @default  */
                to: string;
                cause: {
                    /**
                     * @description `key`, `user`, `player`, `schedule`, `operator` or `system`.
                     * @default
                     */
                    kind: string;
                    /** @default  */
                    id: string;
                    /** @default  */
                    note: string;
                };
            }[];
            /** @description The statechart. */
            definition: unknown;
        };
        ServerUsage: {
            /** @default [] */
            sessions: components["schemas"]["AwakeSession"][];
            /**
             * @description Of the span.
             * @default 0
             */
            gbHours: number;
            /**
             * Format: int64
             * @description What the ledger says of the span, flat periods included.
             */
            amountMicros: string;
            /**
             * Format: int64
             * @description What the next hour awake costs on the metered plan, at its present RAM.
             */
            hourMicros: string;
            /**
             * Format: int64
             * @description What 30 days cost on the flat plan.
             */
            flatMicros: string;
            /**
             * Format: date-time
             * @description End of the paid flat period; null without one.
             */
            flatPaidUntil: string | null;
        };
        AwakeSession: {
            /**
             * Format: date-time
             * @description When it was woken.
             */
            startedAt: string | null;
            /**
             * Format: date-time
             * @description From then on it was metered; null: it never got ready, and was free.
             */
            readyAt: string | null;
            /**
             * Format: date-time
             * @description Null: awake now.
             */
            endedAt: string | null;
            /**
             * @description `stopped`, `idle`, `false_wake`, `crashed`, `start_failed`, `cancelled`, `funds`, …; empty: awake now.
             * @default
             */
            ending: string;
            /** @description The cause of the wake. */
            cause: {
                /**
                 * @description `player`, `key`, `user`, `schedule`, `operator` or `system`.
                 * @default
                 */
                kind: string;
                /** @default  */
                id: string;
                /** @default  */
                note: string;
            };
            /** @default  */
            plan: string;
            /**
             * Format: int32
             * @default 0
             */
            ramMb: number;
            /**
             * Format: int32
             * @description Charged, each when it was full.
             * @default 0
             */
            minutes: number;
            /** @default 0 */
            gbHours: number;
            /** Format: int64 */
            amountMicros: string;
        };
        ServerDatabase: {
            /** @default  */
            serverId: string;
            /**
             * @description As game servers reach it.
             * @default
             */
            host: string;
            /**
             * Format: int32
             * @default 0
             */
            port: number;
            /** @default  */
            dbName: string;
            /** @default  */
            dbUser: string;
            /**
             * @description Shown to the owner; empty for members.
             * @default
             */
            dbPassword: string;
            /** @default false */
            present: boolean;
            /**
             * @description Whether this service has databases to give.
             * @default false
             */
            offered: boolean;
        };
        SftpAccess: {
            /** @default false */
            enabled: boolean;
            /** @default  */
            host: string;
            /**
             * Format: int32
             * @default 0
             */
            port: number;
            /**
             * @description Of this server alone.
             * @default
             */
            username: string;
            /**
             * Format: int32
             * @description Connections open at present.
             * @default 0
             */
            sessions: number;
            /**
             * @description What clients show on the first connection, to be compared.
             * @default
             */
            hostKeyFingerprint: string;
        };
        SftpCredential: {
            /** @default  */
            host: string;
            /**
             * Format: int32
             * @default 0
             */
            port: number;
            /**
             * @description Of this server alone.
             * @default
             */
            username: string;
            /**
             * @description Shown this once.
             * @default
             */
            password: string;
        };
        ListServerModsResponse: {
            /** @default [] */
            mods: components["schemas"]["ServerMod"][];
        };
        ServerMod: {
            /** @default  */
            name: string;
            /** @default  */
            projectId: string;
            /** @default  */
            source: string;
            /**
             * @description As it was asked for.
             * @default
             */
            versionSpec: string;
            /**
             * @description The version it has.
             * @default
             */
            version: string;
            /**
             * @description Its path among the server's files.
             * @default
             */
            file: string;
            /**
             * @description Installed as a dependency; removed with the mod that needs it.
             * @default false
             */
            dependency: boolean;
        };
        ServerModRequest: {
            /**
             * @description For people; empty: the project's title.
             * @default
             */
            name?: string;
            /** @description The registry's id of the project, or its short name. */
            projectId: string;
            /**
             * @description `modrinth` (default) or `curseforge`, where its operator has set it up.
             * @default modrinth
             * @enum {string}
             */
            source?: "modrinth" | "curseforge";
            /**
             * @description Empty: the newest that fits the server, releases first. `release`, `beta`, `alpha`: the newest that is at least as stable. Anything else: the id or number of one version, which updates leave alone.
             * @default
             */
            versionSpec?: string;
            /** @default false */
            dryRun?: boolean;
        };
        AddServerModResponse: {
            /** @description With `dryRun` only. */
            changes?: components["schemas"]["ModChange"][];
        };
        ModChange: {
            /** @default  */
            name: string;
            /** @default  */
            projectId: string;
            /** @default  */
            source: string;
            /**
             * @description Version; empty: it was not there.
             * @default
             */
            from: string;
            /**
             * @description Version; empty if it is removed.
             * @default
             */
            to: string;
        };
        UpdateServerModsResponse: {
            /** @default [] */
            changes: components["schemas"]["ModChange"][];
        };
        SearchModsResponse: {
            /** @default [] */
            projects: components["schemas"]["ModProject"][];
        };
        ModProject: {
            /** @default  */
            projectId: string;
            /**
             * @description Its short name, which may change.
             * @default
             */
            slug: string;
            /** @default  */
            source: string;
            /**
             * @description `mod`, `plugin` or `modpack`.
             * @default
             */
            kind: string;
            /** @default  */
            name: string;
            /** @default  */
            description: string;
            /** @default  */
            author: string;
            /** Format: int64 */
            downloads: string;
            /** @default  */
            iconUrl: string;
        };
        ListBackupsResponse: {
            /** @default [] */
            backups: components["schemas"]["Backup"][];
            /** @description How many are kept. */
            retention: components["schemas"]["BackupRetention"];
        };
        Backup: {
            /**
             * @description `previous`: the folder from before the last restore, until a later start has succeeded.
             * @default
             */
            id: string;
            /** @default  */
            serverId: string;
            /** Format: date-time */
            createdAt: string | null;
            /**
             * Format: int64
             * @description Of the archive.
             */
            sizeBytes: string;
            /**
             * @description `queued`, `running`, `ready` or `failed`; more may come.
             * @default
             */
            state: string;
            /**
             * @description `manual`, `schedule`, `install`, `reset`, `restore` or `previous`; more may come.
             * @default
             */
            kind: string;
            /**
             * @description Why it failed.
             * @default
             */
            error: string;
            /**
             * @description A note to read before restoring, for example that a running game did not confirm that it had saved its world.
             * @default
             */
            note: string;
            /**
             * @description Cannot be deleted, by hand or by retention.
             * @default false
             */
            locked: boolean;
            /** Format: date-time */
            finishedAt: string | null;
            /**
             * Format: int32
             * @description Progress while it is being created or restored; else 0.
             * @default 0
             */
            percent: number;
            /**
             * Format: int64
             * @description Of what is in it.
             */
            treeBytes: string;
            /**
             * @description Of the archive, in hex.
             * @default
             */
            sha256: string;
            /**
             * @description The server’s core at the time of the backup; a restore switches back to it.
             * @default
             */
            type: string;
            /** @default  */
            version: string;
            /** @default  */
            modpackPlatform: string;
            /** @default  */
            modpackRef: string;
            /** @default  */
            modpackVersion: string;
            /**
             * @description Stored in the operator’s off-site store. Until the upload is complete, it is on the service’s own disk.
             * @default false
             */
            offSite: boolean;
            /**
             * @description Is to be brought there, or is being brought. It can be restored and downloaded meanwhile.
             * @default false
             */
            awaitingOffSite: boolean;
            /**
             * @description Encrypted with the operator’s key where it is stored. Downloads are not encrypted.
             * @default false
             */
            encrypted: boolean;
        };
        BackupRetention: {
            /**
             * Format: int32
             * @default 0
             */
            keepLast: number;
            /**
             * Format: int32
             * @default 0
             */
            hourly: number;
            /**
             * Format: int32
             * @default 0
             */
            daily: number;
            /**
             * Format: int32
             * @default 0
             */
            weekly: number;
            /**
             * Format: int32
             * @default 0
             */
            monthly: number;
        };
        SetBackupLockedRequest: {
            /** @default false */
            locked?: boolean;
        };
        SetBackupRetentionRequest: {
            /** Format: int32 */
            keepLast?: number;
            /** Format: int32 */
            hourly?: number;
            /** Format: int32 */
            daily?: number;
            /** Format: int32 */
            weekly?: number;
            /** Format: int32 */
            monthly?: number;
        };
        ListFilesResponse: {
            /** @default [] */
            entries: components["schemas"]["FileEntry"][];
            /**
             * Format: int32
             * @description How many there are, whatever `limit` and `offset` say.
             * @default 0
             */
            total: number;
        };
        FileEntry: {
            /** @default  */
            name: string;
            /** @default false */
            isDir: boolean;
            /**
             * Format: int64
             * @description In bytes; 0 for anything but a file.
             */
            size: string;
            /**
             * Format: date-time
             * @description When its content last changed; of a directory, what is in it.
             */
            modifiedAt: string | null;
        };
        ReadFileResponse: {
            /**
             * Format: byte
             * @description Base64.
             * @default
             */
            content: string;
            /**
             * @description The file is longer.
             * @default false
             */
            truncated: boolean;
            /**
             * @description Another after each change: for `ifVersion` of WriteFile.
             * @default
             */
            version: string;
        };
        WriteFileRequest: {
            path: string;
            /**
             * Format: byte
             * @description Base64; empty: an empty file.
             */
            content?: string;
            /**
             * @description The `version` that was read: what somebody else has written since is not overwritten (FILE_CHANGED). `none`: nothing may be there yet. Empty: whatever is there gives way.
             * @default
             */
            ifVersion?: string;
        };
        CopyPathRequest: {
            from: string;
            to: string;
        };
        CopyPathResponse: {
            /**
             * Format: int64
             * @description In bytes.
             */
            copied: string;
        };
        RenamePathRequest: {
            from: string;
            to: string;
        };
        DeletePathRequest: {
            path: string;
        };
        MakeDirectoryRequest: {
            path: string;
        };
        ArchivePathsRequest: {
            paths: string[];
            to: string;
        };
        ExtractArchiveRequest: {
            path: string;
            /**
             * @description Empty: the server's root.
             * @default
             */
            to?: string;
            /**
             * @description Whether existing files are overwritten.
             * @default true
             */
            overwrite?: boolean;
        };
        ExtractArchiveResponse: {
            /**
             * Format: int64
             * @description In bytes.
             */
            extracted: string;
        };
        ScheduleList: {
            /** @default [] */
            schedules: components["schemas"]["Schedule"][];
        };
        Schedule: {
            /** @default  */
            id: string;
            /** @default  */
            serverId: string;
            /**
             * @description `command`, `start`, `stop`, `restart` or `backup`; more may come.
             * @default
             */
            kind: string;
            /** @default  */
            command: string;
            /**
             * @description Five fields, in UTC.
             * @default
             */
            cronExpr: string;
            /**
             * @description `ok`, `error` or `skipped`; empty before the first run and while one goes on.
             * @default
             */
            lastStatus: string;
            /** @default  */
            lastError: string;
            /** @default  */
            createdAt: string;
            /**
             * @description RFC 3339; empty: never.
             * @default
             */
            lastRunAt: string;
            /**
             * @description RFC 3339; empty while disabled.
             * @default
             */
            nextRunAt: string;
            /** @default false */
            enabled: boolean;
        };
        CreateScheduleRequest: {
            /** @enum {string} */
            kind: "command" | "start" | "stop" | "restart" | "backup";
            /** @default  */
            command?: string;
            cronExpr: string;
            /**
             * @description Of the schedule to be changed; empty: a new one.
             * @default
             */
            scheduleId?: string;
        };
        ServerWorldList: {
            /** @default [] */
            worlds: components["schemas"]["ServerWorld"][];
        };
        ServerWorld: {
            /**
             * @description Its folder; those of its nether and end belong to it.
             * @default
             */
            name: string;
            /**
             * @description The world of the next start (`level-name`); created then if it is empty.
             * @default false
             */
            active: boolean;
            /**
             * @description The running game has it open.
             * @default false
             */
            loaded: boolean;
            /** Format: int64 */
            sizeBytes: string;
        };
        PlayerLists: {
            /**
             * @description Online players, by name.
             * @default []
             */
            online: string[];
            /** @default false */
            running: boolean;
            /**
             * @description The running game takes no commands: who is online is told by the proxy, and a change of a list has effect in the game when it starts next; the proxy keeps to bans of addresses at once.
             * @default false
             */
            withoutConsole: boolean;
            /**
             * @description Players are who their Minecraft accounts say (`online-mode`). Without it anybody may come in under any name.
             * @default false
             */
            accountsChecked: boolean;
            /**
             * @description Whitelisted players and operators only, may come in.
             * @default false
             */
            whitelistEnforced: boolean;
            /** @default [] */
            whitelist: components["schemas"]["WhitelistEntry"][];
            /** @default [] */
            ops: components["schemas"]["OpEntry"][];
            /**
             * @description Bans in force.
             * @default []
             */
            banned: components["schemas"]["BanEntry"][];
            /**
             * @description Bans in force.
             * @default []
             */
            bannedIps: components["schemas"]["IpBanEntry"][];
        };
        WhitelistEntry: {
            /** @default  */
            name: string;
            /** @default  */
            uuid: string;
        };
        OpEntry: {
            /** @default  */
            name: string;
            /** @default  */
            uuid: string;
            /**
             * Format: int32
             * @description 0 to 4.
             * @default 0
             */
            level: number;
            /**
             * @description Can join a full server.
             * @default false
             */
            bypassesPlayerLimit: boolean;
        };
        BanEntry: {
            /** @default  */
            uuid: string;
            /** @default  */
            name: string;
            /**
             * @description In the game's own words: `2026-11-20 20:00:00 +0000`.
             * @default
             */
            created: string;
            /**
             * @description The person who banned; `Rcon` for this API.
             * @default
             */
            source: string;
            /**
             * @description When the ban ends: a date as in `created`, or `forever`.
             * @default
             */
            expires: string;
            /**
             * @description Shown to the player.
             * @default
             */
            reason: string;
        };
        IpBanEntry: {
            /** @default  */
            ip: string;
            /**
             * @description In the game's own words: `2026-11-20 20:00:00 +0000`.
             * @default
             */
            created: string;
            /**
             * @description The person who banned; `Rcon` for this API.
             * @default
             */
            source: string;
            /**
             * @description When the ban ends: a date as in `created`, or `forever`.
             * @default
             */
            expires: string;
            /**
             * @description Shown to the player.
             * @default
             */
            reason: string;
        };
        SetWhitelistEnforcedRequest: {
            /** @default false */
            enforced?: boolean;
        };
        SetWhitelistEntryRequest: {
            /** @description With a dot before it: a player of the Bedrock edition, who has joined before. */
            name: string;
            /** @default false */
            allowed?: boolean;
        };
        SetBanEntryRequest: {
            /** @description With a dot before it: a player of the Bedrock edition, who has joined before. */
            name: string;
            /** @default false */
            banned?: boolean;
            reason?: string;
            /**
             * Format: date-time
             * @description When the ban ends. Absent: never.
             */
            expires?: string;
        };
        SetIpBanEntryRequest: {
            ip: string;
            /** @default false */
            banned?: boolean;
            reason?: string;
            /**
             * Format: date-time
             * @description When the ban ends. Absent: never.
             */
            expires?: string;
        };
        SetOpEntryRequest: {
            /** @description With a dot before it: a player of the Bedrock edition, who has joined before. */
            name: string;
            /** @default false */
            op?: boolean;
        };
        KickPlayerRequest: {
            /** @description With a dot before it: a player of the Bedrock edition, who has joined before. */
            name: string;
            reason?: string;
        };
        ListTemplatesResponse: {
            /** @default [] */
            templates: components["schemas"]["Template"][];
        };
        Template: {
            /** @default  */
            id: string;
            /** @default  */
            name: string;
            /** @default  */
            description: string;
            /** @default  */
            motd: string;
            /** @default  */
            plan: string;
            /** @default  */
            serverType: string;
            /** @default  */
            version: string;
            /**
             * Format: int32
             * @default 0
             */
            ramMb: number;
            /** @default {} */
            properties: {
                [key: string]: string;
            };
            /**
             * @description It is built in and cannot be deleted.
             * @default false
             */
            builtIn: boolean;
            /**
             * @default {
             *       "platform": "",
             *       "ref": "",
             *       "version": ""
             *     }
             */
            modpack: components["schemas"]["TemplateModpack"];
        };
        TemplateModpack: {
            /** @default  */
            platform: string;
            /** @default  */
            ref: string;
            /** @default  */
            version: string;
        };
        CreateServerFromTemplateRequest: {
            name: string;
            overrides?: components["schemas"]["TemplateOverrides"];
        };
        /** @description Empty and 0: as in the template. */
        TemplateOverrides: {
            /** @default  */
            plan?: string;
            /** @default  */
            region?: string;
            /** @default  */
            version?: string;
            /** Format: int32 */
            ramMb?: number;
        };
        CreateTemplateRequest: {
            serverId: string;
            name: string;
            /** @default  */
            description?: string;
        };
        ListMembersResponse: {
            /** @default [] */
            members: components["schemas"]["Member"][];
        };
        Member: {
            /** @default  */
            memberId: string;
            /** @default  */
            email: string;
            /**
             * @description `member` or `limited`.
             * @default
             */
            role: string;
            /**
             * @description Invited, and has not accepted yet.
             * @default false
             */
            pending: boolean;
            /**
             * @description The user, as in audit entries; empty while pending.
             * @default
             */
            userId: string;
        };
        InviteMemberRequest: {
            /** Format: email */
            email: string;
            /** @enum {string} */
            role: "member" | "limited";
        };
        SetMemberRoleRequest: {
            memberId: string;
            /** @enum {string} */
            role: "member" | "limited";
        };
        RemoveMemberRequest: {
            memberId: string;
        };
        EulaConsent: {
            /**
             * @description Whether the EULA is accepted, so that servers of Mojang’s software can run.
             * @default false
             */
            accepted: boolean;
            /**
             * @description The operator has, for every server of the installation (`MINECRAFT_EULA=accept`).
             * @default false
             */
            byOperator: boolean;
            /**
             * Format: date-time
             * @description When it was accepted; null if it was not.
             */
            acceptedAt: string | null;
            /**
             * @description The user who accepted it.
             * @default
             */
            userId: string;
            /**
             * @description The address of its text.
             * @default
             */
            url: string;
        };
        AcceptEulaRequest: {
            /** @constant */
            accepted: true;
        };
        ListNodesResponse: {
            /** @default [] */
            nodes: components["schemas"]["Node"][];
        };
        Node: {
            /**
             * @description Its name. Where two are called alike, their ids.
             * @default
             */
            node: string;
            /**
             * @description The engine's id of it; empty where games run on this machine alone.
             * @default
             */
            id: string;
            /**
             * @description Where the other nodes reach it; empty where games run on this machine alone.
             * @default
             */
            address: string;
            /** @default  */
            region: string;
            /**
             * @description `ready`; `drained`: an operator lets no games start there; `closed`: something else keeps games from starting (see `trouble`); `down`: it does not answer, and its games may run on; `fenced`: it does not answer and is surely off. More may come.
             * @default
             */
            state: string;
            /**
             * @description What keeps games from starting there though it answers, as a sentence.
             * @default
             */
            trouble: string;
            /**
             * Format: date-time
             * @description Since when its games wait: it is not responding, and they start elsewhere only once it is marked as off. Null: no game waits.
             */
            lostSince: string | null;
            /**
             * Format: date-time
             * @description Since when it counts as surely off; null: it does not.
             */
            fencedAt: string | null;
            /**
             * @description Its engine answers.
             * @default false
             */
            reachable: boolean;
            /**
             * @description It accepts no new starts.
             * @default false
             */
            drained: boolean;
            /** @default  */
            drainReason: string;
            /** Format: date-time */
            drainedAt: string | null;
            /**
             * Format: int64
             * @description What the machine has, for games and all else.
             */
            ramTotalMb: string;
            capacity: components["schemas"]["CapacityResponse"];
        };
        NodeRequest: {
            /** @description As the list names it, or its id. */
            node: string;
            /** @description Shown to owners who start a server. */
            reason: string;
        };
        FenceNodeRequest: {
            /** @description As the list names it, or its id. */
            node: string;
            /** @description How you verified that it is off. Recorded in the audit log. */
            reason: string;
        };
        NodeRegionRequest: {
            /** @description As the list names it, or its id. */
            node: string;
            /** @description The code of a region, which may be new; `none`: no games start on it. */
            region: string;
            reason: string;
        };
        ListProxiesResponse: {
            /** @default [] */
            proxies: components["schemas"]["Proxy"][];
        };
        Proxy: {
            /**
             * @description One for each process.
             * @default
             */
            id: string;
            /** @default  */
            name: string;
            /**
             * @description The release, and a digest of its program.
             * @default
             */
            version: string;
            /** Format: date-time */
            since: string | null;
            /**
             * @description Whether it is connected to the service.
             * @default false
             */
            connected: boolean;
            /**
             * @description Players can connect to it.
             * @default false
             */
            listening: boolean;
            /**
             * @description The address for players; empty unless it listens.
             * @default
             */
            host: string;
            /**
             * Format: int32
             * @default 0
             */
            port: number;
            /**
             * @description Whether it accepts no new players and ends with its last one.
             * @default false
             */
            draining: boolean;
            /**
             * Format: int32
             * @description Joined to a game through it.
             * @default 0
             */
            players: number;
            /**
             * Format: int32
             * @description Held until their server is up.
             * @default 0
             */
            waiting: number;
            /**
             * Format: int32
             * @description The last round trip to it, rounded up.
             * @default 0
             */
            lagMs: number;
        };
        SetDiskQuotaRequest: {
            /** Format: int32 */
            quotaMb: number;
            reason: string;
        };
        SuspendServerRequest: {
            /** @description Its owner reads it. */
            reason: string;
        };
        UnsuspendServerRequest: {
            reason: string;
        };
        ListMachinesResponse: {
            /** @default [] */
            machines: components["schemas"]["OperatorMachine"][];
            /**
             * @description Empty on the last page.
             * @default
             */
            next: string;
            /**
             * @description Where asked for: how many there are in each state, on all pages and whatever `state` is asked for.
             * @default []
             */
            counts: {
                /** @default  */
                state: string;
                /**
                 * Format: int32
                 * @default 0
                 */
                count: number;
            }[];
        };
        OperatorMachine: {
            /** @default  */
            id: string;
            /**
             * @description `server` or `grant`.
             * @default
             */
            kind: string;
            /**
             * @description A server's name, or the app that asks for a grant.
             * @default
             */
            name: string;
            /**
             * @description Empty for a grant.
             * @default
             */
            accountId: string;
            /**
             * @description As GetServer has it; also `deleting`, and `maintaining` as InspectMachine has it. Of a grant, the answer to its device.
             * @default
             */
            state: string;
            /**
             * @description Its path in the statechart: `stopping.halting`.
             * @default
             */
            path: string;
            /**
             * Format: date-time
             * @description When the state was entered.
             */
            since: string | null;
            /**
             * @description The state is meant to pass.
             * @default false
             */
            passing: boolean;
            /** @description The cause. */
            cause: {
                /**
                 * @description `key`, `user`, `player`, `schedule`, `operator` or `system`.
                 * @default
                 */
                kind: string;
                /** @default  */
                id: string;
                /** @default  */
                note: string;
            };
            /** @default [] */
            waitsFor: {
                /**
                 * @description The active invoke, or the awaited event.
                 * @default
                 */
                name: string;
                /**
                 * @description The same in words.
                 * @default
                 */
                what: string;
                /**
                 * Format: date-time
                 * @description When the wait ends.
                 */
                until: string | null;
            }[];
            /** Format: date-time */
            deadlineAt: string | null;
        };
        OperatorMachineDetail: {
            /** @default  */
            id: string;
            /**
             * @description `server` or `grant`.
             * @default
             */
            kind: string;
            /**
             * @description A server's name, or the app that asks for a grant.
             * @default
             */
            name: string;
            /**
             * @description Empty for a grant.
             * @default
             */
            accountId: string;
            /**
             * @description As GetServer has it; also `deleting`, and `maintaining` as InspectMachine has it. Of a grant, the answer to its device.
             * @default
             */
            state: string;
            /**
             * @description Its path in the statechart: `stopping.halting`.
             * @default
             */
            path: string;
            /**
             * Format: date-time
             * @description When the state was entered.
             */
            since: string | null;
            /**
             * @description The state is meant to pass.
             * @default false
             */
            passing: boolean;
            /** @description The cause. */
            cause: {
                /**
                 * @description `key`, `user`, `player`, `schedule`, `operator` or `system`.
                 * @default
                 */
                kind: string;
                /** @default  */
                id: string;
                /** @default  */
                note: string;
            };
            /** @default [] */
            waitsFor: {
                /**
                 * @description The active invoke, or the awaited event.
                 * @default
                 */
                name: string;
                /**
                 * @description The same in words.
                 * @default
                 */
                what: string;
                /**
                 * Format: date-time
                 * @description When the wait ends.
                 */
                until: string | null;
            }[];
            /** Format: date-time */
            deadlineAt: string | null;
            /**
             * @description The events SendToMachine accepts now.
             * @default []
             */
            legalEvents: string[];
            /** @default [] */
            deadlines: {
                /** @default  */
                name: string;
                /** Format: date-time */
                at: string | null;
            }[];
            /**
             * @description The last 50, newest first.
             * @default []
             */
            transitions: {
                /** Format: date-time */
                at: string | null;
                /**
                 * @description `BOOT_DONE` and `BOOT_FAILED`: an effect of the machine has ended.
                 * @default
                 */
                event: string;
                /** @default  */
                from: string;
                /** @default  */
                to: string;
                cause: {
                    /**
                     * @description `key`, `user`, `player`, `schedule`, `operator` or `system`.
                     * @default
                     */
                    kind: string;
                    /** @default  */
                    id: string;
                    /** @default  */
                    note: string;
                };
            }[];
            /** @description As stored; possible secrets are redacted. */
            snapshot: unknown;
            /** @description The statechart. */
            definition: unknown;
        };
        SendToMachineRequest: {
            /** @enum {string} */
            event: "ALARM" | "KILL" | "STOP" | "START" | "RESTART" | "RETRY_INSTALL" | "REINSTALL" | "DELETE" | "DENY";
            reason: string;
        };
        SendToMachineResponse: {
            /** @description Absent once it is gone. */
            machine?: components["schemas"]["OperatorMachineDetail"];
        };
        TransitionEvent: {
            /** Format: date-time */
            at: string;
            id: string;
            /** @enum {string} */
            kind: "server" | "grant";
            event: string;
            from: string;
            to: string;
            fromPath: string;
            toPath: string;
            /** @description The cause, as in InspectMachine. */
            cause: {
                kind: string;
                id: string;
                note: string;
            };
        };
        ListClientsResponse: {
            /** @default [] */
            clients: components["schemas"]["Client"][];
        };
        Client: {
            /**
             * @description What the app sends as `client_id`. No secret.
             * @default
             */
            clientId: string;
            /** @default  */
            name: string;
            /** @default  */
            homepage: string;
            /** @default [] */
            scopes: string[];
            /** Format: date-time */
            createdAt: string | null;
            /**
             * Format: date-time
             * @description Null: enabled.
             */
            disabledAt: string | null;
        };
        RegisterClientRequest: {
            name: string & (unknown & unknown);
            /** Format: uri */
            homepage: string;
            /**
             * @default [
             *       "servers:list"
             *     ]
             */
            scopes?: "servers:list"[];
        };
        ClientReason: {
            /** @description For the audit log. */
            reason?: string;
        };
        ListAccountsResponse: {
            /** @default [] */
            accounts: components["schemas"]["OperatorAccount"][];
        };
        OperatorAccount: {
            /** @default  */
            accountId: string;
            /** @default  */
            name: string;
            /**
             * @description The e-mail address of its first user.
             * @default
             */
            email: string;
            /** Format: date-time */
            createdAt: string | null;
            /** Format: int64 */
            balanceMicros: string;
            /**
             * Format: int32
             * @description How many it has, asleep or awake.
             * @default 0
             */
            servers: number;
            /**
             * Format: int32
             * @description In force.
             * @default 0
             */
            maxRamMb: number;
            /**
             * Format: int32
             * @description In force; 0: no limit.
             * @default 0
             */
            maxServers: number;
            /**
             * @description Its user may run this installation.
             * @default false
             */
            operator: boolean;
        };
        OperatorAccountDetail: {
            account: components["schemas"]["OperatorAccount"];
            /**
             * Format: int32
             * @description -1: the installation's limit.
             * @default 0
             */
            ownMaxRamMb: number;
            /**
             * Format: int32
             * @description -1: the installation's limit.
             * @default 0
             */
            ownMaxServers: number;
            /**
             * @description Signing in asks its users for a code, too.
             * @default false
             */
            secondFactor: boolean;
            /** @default [] */
            servers: {
                /** @default  */
                id: string;
                /** @default  */
                name: string;
                /** @default  */
                state: string;
                /** @default  */
                plan: string;
                /**
                 * Format: int32
                 * @default 0
                 */
                ramMb: number;
                /** @default false */
                suspended: boolean;
                /** @default  */
                suspendReason: string;
                /** Format: date-time */
                suspendedAt: string | null;
                /**
                 * Format: int64
                 * @description As last measured.
                 */
                diskUsageMb: string;
                /**
                 * @description False: never measured.
                 * @default false
                 */
                diskUsageKnown: boolean;
                /**
                 * Format: int64
                 * @description Set by an operator; 0 = none.
                 */
                diskQuotaOverrideMb: string;
                /**
                 * Format: int64
                 * @description In force; 0: no quota.
                 */
                diskQuotaEffectiveMb: string;
            }[];
        };
        CreditAccountRequest: {
            /** Format: int64 */
            amountMicros: string;
            /**
             * @default credit
             * @enum {string}
             */
            kind?: "credit" | "refund" | "adjustment";
            note: string;
            /**
             * @description Your own reference, unique within its kind. Empty: none.
             * @default
             */
            ref?: string;
        };
        SetAccountLimitsRequest: {
            /**
             * Format: int32
             * @description RAM of its servers together, asleep or awake.
             */
            maxRamMb?: number;
            /**
             * Format: int32
             * @description 0: no limit.
             */
            maxServers?: number;
            /** @description For the audit log. The owner can read it. */
            reason?: string;
        };
        InviteAccountRequest: {
            /** Format: email */
            email: string;
        };
        InviteAccountResponse: {
            /**
             * @description For this address alone. Returned only this once.
             * @default
             */
            link: string;
            /** Format: date-time */
            expiresAt: string | null;
            /** @default  */
            invitationId: string;
            /**
             * @description Whether it was e-mailed; false: e-mail is not set up, pass it on.
             * @default false
             */
            sent: boolean;
        };
        ListAccountInvitationsResponse: {
            /** @default [] */
            invitations: components["schemas"]["AccountInvitation"][];
        };
        AccountInvitation: {
            /** @default  */
            invitationId: string;
            /**
             * @description The only address that can create an account with it.
             * @default
             */
            email: string;
            /**
             * @description The e-mail address of the operator.
             * @default
             */
            invitedBy: string;
            /** Format: date-time */
            createdAt: string | null;
            /** Format: date-time */
            expiresAt: string | null;
        };
        CancelAccountInvitationRequest: {
            /** @description For the audit log. */
            reason?: string;
        };
        SetAccountOperatorRequest: {
            /** @default false */
            operator?: boolean;
            /** @description For the audit log. */
            reason: string;
        };
        MakeResetLinkRequest: {
            /** @description For the audit log. */
            reason: string;
        };
        MakeResetLinkResponse: {
            /**
             * @description Returned only this once.
             * @default
             */
            link: string;
            /** Format: date-time */
            expiresAt: string | null;
            /**
             * @description Whether it was e-mailed; false: e-mail is not set up, pass it on.
             * @default false
             */
            sent: boolean;
        };
        RemoveAccountSecondFactorRequest: {
            /** @description For the audit log. */
            reason: string;
        };
        ReconcileLedgerResponse: {
            /** @default [] */
            mismatches: {
                /** @default  */
                accountId: string;
                /** Format: int64 */
                balanceMicros: string;
                /** Format: int64 */
                ledgerMicros: string;
            }[];
        };
        ListOrphansResponse: {
            /** @default [] */
            orphans: components["schemas"]["Orphan"][];
            /**
             * @description Kinds that could not be listed now.
             * @default []
             */
            unread: string[];
        };
        Orphan: {
            /**
             * @description `game` (a container or process), `database`, `data` or `backups` (a folder), `offsite` (a backup off site); more may come.
             * @default
             */
            kind: string;
            /**
             * @description The id of the server it belonged to, the name of a database, or `<server>/<backup>` off site.
             * @default
             */
            id: string;
            /**
             * @description A game that runs.
             * @default false
             */
            up: boolean;
            /**
             * Format: date-time
             * @description When a game began, a database was made, a folder was last changed, or a backup was brought off site; null: not known.
             */
            at: string | null;
        };
        RemoveOrphanRequest: {
            kind: string;
            id: string;
            reason: string;
        };
        RemoveOrphanResponse: Record<string, never>;
        Me: {
            /** @default  */
            userId: string;
            /** @default  */
            accountId: string;
            /** @default  */
            email: string;
            /** @default false */
            emailVerified: boolean;
            /**
             * @description May run this installation.
             * @default false
             */
            operator: boolean;
            /**
             * @description To be sent as `x-csrf-token` with every change by this session.
             * @default
             */
            csrfToken: string;
        };
        RequestSignUpRequest: {
            /** Format: email */
            email: string;
        };
        SignUpRequest: {
            /** Format: email */
            email: string;
            password: string;
            /** @description The token of the link, if one is needed. */
            invitation?: string;
        };
        SignInRequest: {
            /** Format: email */
            email: string;
            password: string;
        };
        SignInWithCodeRequest: {
            /** @description The six digits that the app shows, or a recovery code. Either is taken once. */
            code: string;
        };
        ChangePasswordRequest: {
            current: string;
            replacement: string;
        };
        ProvePasswordRequest: {
            password: string;
        };
        VerifyEmailRequest: {
            token: string;
        };
        RequestPasswordResetRequest: {
            /** Format: email */
            email: string;
        };
        ResetPasswordRequest: {
            token: string;
            password: string;
        };
        ChangeEmailRequest: {
            /** Format: email */
            email: string;
            password: string;
        };
        ChangeEmailResponse: {
            /**
             * @description Whether a confirmation was e-mailed; false: the address is changed.
             * @default false
             */
            sent: boolean;
        };
        SecondFactor: {
            /**
             * Format: date-time
             * @description Null without one.
             */
            enabledAt: string | null;
            /**
             * Format: int32
             * @description How many are left.
             * @default 0
             */
            recoveryCodes: number;
            /**
             * @description An operator here who cannot run the installation before having one.
             * @default false
             */
            needed: boolean;
        };
        BeginSecondFactorResponse: {
            /**
             * @description Base32, to be typed into the app.
             * @default
             */
            key: string;
            /**
             * @description The same as an `otpauth:` address, for a QR code.
             * @default
             */
            uri: string;
        };
        ConfirmSecondFactorRequest: {
            code: string;
        };
        RecoveryCodes: {
            /**
             * @description 10, shown this once.
             * @default []
             */
            recoveryCodes: string[];
        };
        RemoveSecondFactorRequest: {
            password: string;
            /** @description The six digits that the app shows, or a recovery code. Either is taken once. */
            code: string;
        };
        RenewRecoveryCodesRequest: {
            password: string;
            /** @description The six digits that the app shows, or a recovery code. Either is taken once. */
            code: string;
        };
        ListSessionsResponse: {
            /** @default [] */
            sessions: components["schemas"]["Session"][];
        };
        Session: {
            /** @default  */
            sessionId: string;
            /** Format: date-time */
            createdAt: string | null;
            /**
             * Format: date-time
             * @description To the minute.
             */
            seenAt: string | null;
            /**
             * Format: date-time
             * @description Unless it is used before.
             */
            expiresAt: string | null;
            /**
             * @description The address it was opened from.
             * @default
             */
            address: string;
            /**
             * @description The browser’s description of itself.
             * @default
             */
            userAgent: string;
            /**
             * @description The session of this call.
             * @default false
             */
            current: boolean;
        };
        EndSessionRequest: {
            sessionId: string;
        };
        EndOtherSessionsResponse: {
            /**
             * Format: int32
             * @default 0
             */
            ended: number;
        };
        ListKeysResponse: {
            /** @default [] */
            keys: components["schemas"]["Key"][];
        };
        Key: {
            /** @default  */
            keyId: string;
            /** @default  */
            name: string;
            /**
             * @description What every API key begins with.
             * @default
             */
            prefix: string;
            /**
             * @description The last four characters of this one.
             * @default
             */
            last4: string;
            /** @default [] */
            scopes: string[];
            /**
             * @description The only servers it reaches; empty: all that you do.
             * @default []
             */
            serverIds: string[];
            /** Format: date-time */
            createdAt: string | null;
            /**
             * Format: date-time
             * @description To the minute; null: never.
             */
            lastUsedAt: string | null;
            /**
             * Format: date-time
             * @description Null: never.
             */
            expiresAt: string | null;
        };
        MintKeyRequest: {
            name: string;
            scopes: ("servers:read" | "servers:write" | "console" | "backups" | "files:read" | "files:write" | "billing:read" | "billing:write" | "members" | "account:read" | "operator")[];
            /**
             * Format: date-time
             * @description Absent: never.
             */
            expiresAt?: string;
            /** @description The servers it can reach. Absent: all of yours. */
            serverIds?: string[];
        };
        MintKeyResponse: {
            key: components["schemas"]["Key"];
            /**
             * @description The key itself, to be sent as `x-api-key`.
             * @default
             */
            apiKey: string;
        };
        RevokeKeyRequest: {
            keyId: string;
        };
        ListSshKeysResponse: {
            /** @default [] */
            keys: components["schemas"]["SshKey"][];
        };
        SshKey: {
            /** @default  */
            keyId: string;
            /** @default  */
            name: string;
            /** @default  */
            type: string;
            /**
             * @description `SHA256:…`, as `ssh-keygen -l` shows it.
             * @default
             */
            fingerprint: string;
            /** Format: date-time */
            createdAt: string | null;
            /**
             * Format: date-time
             * @description Null: never.
             */
            lastUsedAt: string | null;
        };
        AddSshKeyRequest: {
            name: string;
            /** @description A line of a `.pub` file: Ed25519, ECDSA, or RSA from 2048 bits on. */
            publicKey: string;
        };
        RemoveSshKeyRequest: {
            keyId: string;
        };
        ListConnectedAppsResponse: {
            /** @default [] */
            apps: components["schemas"]["ConnectedApp"][];
        };
        ConnectedApp: {
            /** @default  */
            clientId: string;
            /** @default  */
            name: string;
            /** @default  */
            homepage: string;
            /** @default [] */
            scopes: string[];
            /** Format: date-time */
            connectedAt: string | null;
            /**
             * Format: date-time
             * @description To the minute; null: never.
             */
            lastUsedAt: string | null;
            /**
             * Format: date-time
             * @description Moves on with each use.
             */
            expiresAt: string | null;
        };
        DisconnectAppRequest: {
            clientId: string;
        };
        ListInvitationsResponse: {
            /** @default [] */
            invitations: components["schemas"]["Invitation"][];
        };
        Invitation: {
            /** @default  */
            memberId: string;
            /** @default  */
            serverId: string;
            /** @default  */
            serverName: string;
            /**
             * @description `member` or `limited`.
             * @default
             */
            role: string;
            /** Format: date-time */
            createdAt: string | null;
        };
        InvitationRequest: {
            memberId: string;
        };
        LookUpDeviceRequest: {
            userCode: string;
        };
        DeviceRequest: {
            /** @default  */
            userCode: string;
            /**
             * @description Null: the command line, which asks for full access.
             * @default null
             */
            client: {
                /** @default  */
                clientId: string;
                /** @default  */
                name: string;
                /** @default  */
                homepage: string;
            } | null;
            /** @default [] */
            scopes: string[];
            /** @default  */
            ip: string;
            /** @default  */
            userAgent: string;
            /** Format: date-time */
            createdAt: string | null;
            /** Format: date-time */
            expiresAt: string | null;
        };
        ApproveDeviceRequest: {
            userCode: string;
        };
        DenyDeviceRequest: {
            userCode: string;
        };
        PublicStatus: {
            /** @default  */
            name: string;
            /**
             * @description As of a Server.
             * @default
             */
            state: string;
            /**
             * @description Minecraft version.
             * @default
             */
            version: string;
            /**
             * Format: int32
             * @description 0 while it does not run; absent if unknown.
             */
            playersOnline?: number;
            /**
             * Format: int32
             * @default 0
             */
            playersMax: number;
            /**
             * @description With `§` codes.
             * @default
             */
            motd: string;
            /**
             * @description The words alone.
             * @default
             */
            motdText: string;
            /**
             * @description While its owner works on it: the owner's words.
             * @default
             */
            maintenance: string;
            /** @description The address for players; absent unless its owner shows it. */
            address?: string;
        };
    };
    responses: {
        /** @description Refused or failed. */
        Error: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ErrorStatus"];
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    WhoAmI: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WhoAmIResponse"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    ListMyServers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListMyServersResponse"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    GetWallet: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The caller's own. */
                accountId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Wallet"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    ListLedger: {
        parameters: {
            query?: {
                /** @description 0: 100; at most 1000. */
                limit?: number;
                /** @description The last id of the page before; 0: the newest entries. */
                before?: string;
            };
            header?: never;
            path: {
                /** @description The caller's own. */
                accountId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListLedgerResponse"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    GetAccountLimits: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The caller's own. */
                accountId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AccountLimits"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    CreateCheckoutLink: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The caller's own. */
                accountId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "amountUsd": 10
                 *     }
                 */
                "application/json": components["schemas"]["CreateCheckoutLinkRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreateCheckoutLinkResponse"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    GetSpendCap: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The caller's own. */
                accountId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SpendCap"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    SetSpendCap: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The caller's own. */
                accountId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "monthlyMicros": "5000000",
                 *       "action": "notify"
                 *     }
                 */
                "application/json": components["schemas"]["SetSpendCapRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SpendCap"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    ListAccountAudit: {
        parameters: {
            query?: {
                /** @description 0: 100; at most 1000. */
                limit?: number;
            };
            header?: never;
            path: {
                /** @description The caller's own. */
                accountId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AccountAuditList"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    GetCapacity: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CapacityResponse"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    ListRegions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListRegionsResponse"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    ListMinecraftVersions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListMinecraftVersionsResponse"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    ListServers: {
        parameters: {
            query?: {
                /** @description Empty: the caller's own, which is the only one. */
                accountId?: string;
                /** @description 0: all; at most 200. */
                limit?: number;
                /** @description `next` of the page before; empty: from the first on. */
                after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListServersResponse"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    CreateServer: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "My Server",
                 *       "ramMb": 2048,
                 *       "type": "paper",
                 *       "version": "1.21.8",
                 *       "properties": {
                 *         "difficulty": "hard"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["CreateServerRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Server"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    GetServer: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Server"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    DeleteServer: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EmptyReply"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    StartServer: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /** @example {} */
                "application/json": components["schemas"]["Empty"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Server"];
                };
            };
            /** @description Not as it should be sent (INVALID_ARGUMENT); or FAILED_PRECONDITION: quota, funds and the operator must allow it, its account must have agreed to the EULA where it runs software of Mojang’s (`AcceptEula`), and nothing else be done with the server. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorStatus"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    StopServer: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /** @example {} */
                "application/json": components["schemas"]["Empty"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Server"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    RestartServer: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /** @example {} */
                "application/json": components["schemas"]["Empty"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Server"];
                };
            };
            /** @description Not as it should be sent (INVALID_ARGUMENT); or FAILED_PRECONDITION: the server must be awake. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorStatus"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    RetryInstall: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /** @example {} */
                "application/json": components["schemas"]["Empty"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Server"];
                };
            };
            /** @description Not as it should be sent (INVALID_ARGUMENT); or FAILED_PRECONDITION: `state` must be `install_failed`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorStatus"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    UpdateServerVersion: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "version": "1.21.8"
                 *     }
                 */
                "application/json": components["schemas"]["UpdateServerVersionRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Server"];
                };
            };
            /** @description Not as it should be sent (INVALID_ARGUMENT); or FAILED_PRECONDITION: the server must be stopped, without a mod pack. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorStatus"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    SetServerProperties: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "idleTimeoutMinutes": 20,
                 *       "properties": {
                 *         "difficulty": "hard",
                 *         "view-distance": "12"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["SetServerPropertiesRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Server"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    SetServerMotd: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "motd": "<gradient:#f3b183:#5b4487>Castle</gradient>\n<gray>Build with us"
                 *     }
                 */
                "application/json": components["schemas"]["SetServerMotdRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Server"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    SetServerAlertWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "url": "https://discord.com/api/webhooks/1/example"
                 *     }
                 */
                "application/json": components["schemas"]["SetServerAlertWebhookRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Server"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    SetPublicStatus: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "enabled": true,
                 *       "showAddress": true
                 *     }
                 */
                "application/json": components["schemas"]["SetPublicStatusRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Server"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    UpdateServer: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["UpdateServerRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Server"];
                };
            };
            /** @description Not as it should be sent (INVALID_ARGUMENT); or FAILED_PRECONDITION: for RAM and plan, the server must be stopped. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorStatus"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    KillServer: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /** @example {} */
                "application/json": components["schemas"]["Empty"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Server"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    KeepAwake: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** Format: int32 */
                    minutes?: number;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Server"];
                };
            };
            /** @description Not as it should be sent (INVALID_ARGUMENT); or FAILED_PRECONDITION: `state` must be `running`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorStatus"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    SetWakePolicy: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "mode": "known",
                 *       "maxWakesPerDay": 20,
                 *       "asleepMotd": "<gray>Asleep. Friends may wake me."
                 *     }
                 */
                "application/json": components["schemas"]["SetWakePolicyRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WakePolicy"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    SetModpack: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "platform": "modrinth",
                 *       "ref": "adrenaserver"
                 *     }
                 */
                "application/json": {
                    /** @description `modrinth`, `curseforge` or `ftb`. */
                    platform: string;
                    /** @description The platform's id or short name of the pack. */
                    ref: string;
                    /**
                     * @description Id of a version; empty: the newest. The pack decides on Minecraft's.
                     * @default
                     */
                    version?: string;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Server"];
                };
            };
            /** @description Not as it should be sent (INVALID_ARGUMENT); or FAILED_PRECONDITION: the server must be at rest, and of a type that takes mod packs. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorStatus"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    AddServerPort: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "containerPort": 24454,
                 *       "label": "Voice chat",
                 *       "proto": "udp"
                 *     }
                 */
                "application/json": components["schemas"]["AddServerPortRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Server"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    RemoveServerPort: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "slot": 0
                 *     }
                 */
                "application/json": components["schemas"]["RemoveServerPortRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Server"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    RunCommand: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "command": "say hello"
                 *     }
                 */
                "application/json": components["schemas"]["RunCommandRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunCommandResponse"];
                };
            };
            /** @description Not as it should be sent (INVALID_ARGUMENT); or FAILED_PRECONDITION: the server must run, and its console answer. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorStatus"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    GetServerLogs: {
        parameters: {
            query?: {
                /** @description From an earlier reply: only lines after it. */
                cursor?: string;
                /** @description Clamped to 0..1000. */
                tail?: number;
            };
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GetServerLogsResponse"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    StreamServerLogs: {
        parameters: {
            query?: {
                /** @description Clamped to 0..1000. */
                tail?: number;
            };
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            default: components["responses"]["Error"];
        };
    };
    GetServerMetrics: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServerMetrics"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    ListServerAudit: {
        parameters: {
            query?: {
                /** @description 0: 100; at most 1000. */
                limit?: number;
            };
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServerAuditList"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    StreamServerEvents: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            default: components["responses"]["Error"];
        };
    };
    ListDiagnostics: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DiagnosticList"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    InspectMachine: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Machine"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    GetServerUsage: {
        parameters: {
            query?: {
                /** @description RFC 3339. Default: 30 days before `to`. */
                from?: string;
                /** @description RFC 3339. Default: now. */
                to?: string;
            };
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServerUsage"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    GetServerDatabase: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServerDatabase"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    CreateServerDatabase: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Empty"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServerDatabase"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    DropServerDatabase: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Empty"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EmptyReply"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    RotateServerDatabasePassword: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Empty"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServerDatabase"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    GetSftp: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SftpAccess"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    EnableSftp: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Empty"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SftpCredential"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    DisableSftp: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Empty"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EmptyReply"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    RotateSftpPassword: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Empty"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SftpCredential"];
                };
            };
            /** @description Not as it should be sent (INVALID_ARGUMENT); or FAILED_PRECONDITION: SFTP must be enabled. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorStatus"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    ListServerMods: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListServerModsResponse"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    AddServerMod: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "projectId": "lithium"
                 *     }
                 */
                "application/json": components["schemas"]["ServerModRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AddServerModResponse"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    RemoveServerMod: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "projectId": "lithium"
                 *     }
                 */
                "application/json": {
                    /** @description The registry's id of the project, or its short name. */
                    projectId: string;
                    /**
                     * @description `modrinth` (default) or `curseforge`, where its operator has set it up.
                     * @default modrinth
                     * @enum {string}
                     */
                    source?: "modrinth" | "curseforge";
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EmptyReply"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    UpdateServerMods: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "dryRun": true
                 *     }
                 */
                "application/json": {
                    /**
                     * @description Empty: all.
                     * @default []
                     */
                    projectIds?: string[];
                    /** @default false */
                    dryRun?: boolean;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UpdateServerModsResponse"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    SearchMods: {
        parameters: {
            query?: {
                /** @description Words of its name; empty: whatever is popular. */
                query?: string;
                /** @description `modrinth` (default) or `curseforge`, where its operator has set it up. */
                source?: "modrinth" | "curseforge";
                /** @description Empty: any. */
                kind?: "" | "mod" | "plugin" | "modpack";
                /** @description `fabric`, `neoforge`, `paper`, …; empty: any. */
                loader?: string;
                /** @description Minecraft version; empty: any. */
                version?: string;
                /** @description 0: 20; at most 100. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SearchModsResponse"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    ListBackups: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListBackupsResponse"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    CreateBackup: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /** @example {} */
                "application/json": components["schemas"]["Empty"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Backup"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    DeleteBackup: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
                /** @description Backup id. */
                backupId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /** @example {} */
                "application/json": components["schemas"]["Empty"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EmptyReply"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    RestoreBackup: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
                /** @description Backup id. */
                backupId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /** @example {} */
                "application/json": components["schemas"]["Empty"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EmptyReply"];
                };
            };
            /** @description Not as it should be sent (INVALID_ARGUMENT); or FAILED_PRECONDITION: the backup must be ready, and nothing else be done with the server. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorStatus"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    DownloadBackup: {
        parameters: {
            query?: never;
            header?: {
                /** @description One range of bytes (RFC 9110 §14.2), kept valid by `If-Range`. */
                Range?: string;
            };
            path: {
                /** @description Server id. */
                id: string;
                /** @description Backup id. */
                backupId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            /** @description The range asked for. */
            206: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            /** @description Not changed since the version that `If-None-Match` names. */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description No such range. */
            416: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Error"];
        };
    };
    SetBackupLocked: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
                /** @description Backup id. */
                backupId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "locked": true
                 *     }
                 */
                "application/json": components["schemas"]["SetBackupLockedRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Backup"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    SetBackupRetention: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "keepLast": 10,
                 *       "daily": 7,
                 *       "weekly": 4
                 *     }
                 */
                "application/json": components["schemas"]["SetBackupRetentionRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BackupRetention"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    ListFiles: {
        parameters: {
            query?: {
                /** @description Relative to the server's root; '/' separates. */
                path?: string;
                /** @description At most so many entries; 0: all. */
                limit?: number;
                /** @description How many entries to leave out in front. */
                offset?: number;
                /** @description Only entries whose names have this in them, in any case. */
                contains?: string;
                /** @description Directories before files; else by name alone. */
                directoriesFirst?: boolean;
            };
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListFilesResponse"];
                };
            };
            /** @description Not as it should be sent (INVALID_ARGUMENT); or FAILED_PRECONDITION: there must be a directory, and not a file, at `path`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorStatus"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    ReadFile: {
        parameters: {
            query?: {
                /** @description Relative to the server's root; '/' separates. */
                path?: string;
            };
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReadFileResponse"];
                };
            };
            /** @description Not as it should be sent (INVALID_ARGUMENT); or FAILED_PRECONDITION: there must be a file, and not a directory, at `path`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorStatus"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    WriteFile: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "path": "ops.json",
                 *       "content": "W10="
                 *     }
                 */
                "application/json": components["schemas"]["WriteFileRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EmptyReply"];
                };
            };
            /** @description Not as it should be sent (INVALID_ARGUMENT); or FAILED_PRECONDITION: no directory may be at `path`, and no file above it. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorStatus"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    CopyPath: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "from": "world",
                 *       "to": "world-before"
                 *     }
                 */
                "application/json": components["schemas"]["CopyPathRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CopyPathResponse"];
                };
            };
            /** @description Not as it should be sent (INVALID_ARGUMENT); or FAILED_PRECONDITION: `to` must not be below `from`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorStatus"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    RenamePath: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "from": "world",
                 *       "to": "world-old"
                 *     }
                 */
                "application/json": components["schemas"]["RenamePathRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EmptyReply"];
                };
            };
            /** @description Not as it should be sent (INVALID_ARGUMENT); or FAILED_PRECONDITION: `to` must not be below `from`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorStatus"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    DeletePath: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "path": "world-old"
                 *     }
                 */
                "application/json": components["schemas"]["DeletePathRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EmptyReply"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    MakeDirectory: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "path": "plugins/maps"
                 *     }
                 */
                "application/json": components["schemas"]["MakeDirectoryRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EmptyReply"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    DownloadPath: {
        parameters: {
            query?: {
                /** @description Empty: the whole server. */
                path?: string;
            };
            header?: {
                /** @description One range of bytes (RFC 9110 §14.2), kept valid by `If-Range`. */
                Range?: string;
            };
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            /** @description The range asked for. */
            206: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            /** @description Not changed since the version that `If-None-Match` names. */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description No such range. */
            416: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Error"];
        };
    };
    UploadFile: {
        parameters: {
            query: {
                /** @description The target path. */
                path: string;
                /** @description Whether to replace an existing file. */
                overwrite?: boolean;
            };
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/octet-stream": string;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FileEntry"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    ArchivePaths: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "paths": [
                 *         "world",
                 *         "plugins"
                 *       ],
                 *       "to": "before-update.tar.zst"
                 *     }
                 */
                "application/json": components["schemas"]["ArchivePathsRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FileEntry"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    ExtractArchive: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "path": "before-update.tar.zst",
                 *       "to": "restored"
                 *     }
                 */
                "application/json": components["schemas"]["ExtractArchiveRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExtractArchiveResponse"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    ListSchedules: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleList"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    CreateSchedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "kind": "command",
                 *       "command": "say Good night",
                 *       "cronExpr": "0 22 * * *"
                 *     }
                 */
                "application/json": components["schemas"]["CreateScheduleRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Schedule"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    DeleteSchedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    scheduleId: string;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EmptyReply"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    RunScheduleNow: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    scheduleId: string;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Schedule"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    SetScheduleEnabled: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    scheduleId: string;
                    /** @default false */
                    enabled?: boolean;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Schedule"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    ListServerWorlds: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServerWorldList"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    SetActiveWorld: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "world"
                 *     }
                 */
                "application/json": {
                    name: string;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServerWorldList"];
                };
            };
            /** @description Not as it should be sent (INVALID_ARGUMENT); or FAILED_PRECONDITION: the world must exist, and no other operation may be running on the server. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorStatus"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    DeleteServerWorld: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "world"
                 *     }
                 */
                "application/json": {
                    name: string;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServerWorldList"];
                };
            };
            /** @description Not as it should be sent (INVALID_ARGUMENT); or FAILED_PRECONDITION: the world must not be the active one of an awake server. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorStatus"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    ResetServerWorld: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /** @example {} */
                "application/json": components["schemas"]["Empty"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServerWorldList"];
                };
            };
            /** @description Not as it should be sent (INVALID_ARGUMENT); or FAILED_PRECONDITION: `level-name` must be the plain name of a folder, and the server neither installing nor failed to install. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorStatus"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    GetPlayerLists: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlayerLists"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    SetWhitelistEnforced: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "enforced": true
                 *     }
                 */
                "application/json": components["schemas"]["SetWhitelistEnforcedRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlayerLists"];
                };
            };
            /** @description Not as it should be sent (INVALID_ARGUMENT); or FAILED_PRECONDITION: the server must not be starting, stopping or installing. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorStatus"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    SetWhitelistEntry: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "Steve",
                 *       "allowed": true
                 *     }
                 */
                "application/json": components["schemas"]["SetWhitelistEntryRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlayerLists"];
                };
            };
            /** @description Not as it should be sent (INVALID_ARGUMENT); or FAILED_PRECONDITION: the server must not be starting, stopping or installing. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorStatus"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    SetBanEntry: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "Herobrine",
                 *       "banned": true,
                 *       "reason": "Took the torches",
                 *       "expires": "2030-01-31T12:00:00Z"
                 *     }
                 */
                "application/json": components["schemas"]["SetBanEntryRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlayerLists"];
                };
            };
            /** @description Not as it should be sent (INVALID_ARGUMENT); or FAILED_PRECONDITION: the server must not be starting, stopping or installing. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorStatus"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    SetIpBanEntry: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "ip": "203.0.113.7",
                 *       "banned": true,
                 *       "reason": "Spam"
                 *     }
                 */
                "application/json": components["schemas"]["SetIpBanEntryRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlayerLists"];
                };
            };
            /** @description Not as it should be sent (INVALID_ARGUMENT); or FAILED_PRECONDITION: the server must not be starting, stopping or installing. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorStatus"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    SetOpEntry: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "Steve",
                 *       "op": true
                 *     }
                 */
                "application/json": components["schemas"]["SetOpEntryRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlayerLists"];
                };
            };
            /** @description Not as it should be sent (INVALID_ARGUMENT); or FAILED_PRECONDITION: the server must not be starting, stopping or installing. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorStatus"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    KickPlayer: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "Steve",
                 *       "reason": "Dinner is ready"
                 *     }
                 */
                "application/json": components["schemas"]["KickPlayerRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EmptyReply"];
                };
            };
            /** @description Not as it should be sent (INVALID_ARGUMENT); or FAILED_PRECONDITION: the server must run. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorStatus"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    ListTemplates: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListTemplatesResponse"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    CreateTemplate: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "serverId": "my-server",
                 *       "name": "Our usual",
                 *       "description": "Hard, ten players"
                 *     }
                 */
                "application/json": components["schemas"]["CreateTemplateRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Template"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    CreateServerFromTemplate: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A built-in one, or one of your own. */
                templateId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "My Server",
                 *       "overrides": {
                 *         "ramMb": 2048
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["CreateServerFromTemplateRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Server"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    DeleteTemplate: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A built-in one, or one of your own. */
                templateId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Empty"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EmptyReply"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    ListMembers: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListMembersResponse"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    InviteMember: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "email": "friend@example.com",
                 *       "role": "limited"
                 *     }
                 */
                "application/json": components["schemas"]["InviteMemberRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Member"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    SetMemberRole: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SetMemberRoleRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Member"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    RemoveMember: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RemoveMemberRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EmptyReply"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    GetEula: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The caller's own. */
                accountId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EulaConsent"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    AcceptEula: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The caller's own. */
                accountId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "accepted": true
                 *     }
                 */
                "application/json": components["schemas"]["AcceptEulaRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EulaConsent"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    ListNodes: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListNodesResponse"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    DrainNode: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "node": "node-1",
                 *       "reason": "Maintenance until 18:00 UTC"
                 *     }
                 */
                "application/json": components["schemas"]["NodeRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Node"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    ResumeNode: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "node": "node-1",
                 *       "reason": "Maintenance done"
                 *     }
                 */
                "application/json": components["schemas"]["NodeRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Node"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    FenceNode: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "node": "node-2",
                 *       "reason": "Power supply pulled, seen by me"
                 *     }
                 */
                "application/json": components["schemas"]["FenceNodeRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Node"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    SetNodeRegion: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "node": "node-2",
                 *       "region": "eu",
                 *       "reason": "Moved to Falkenstein"
                 *     }
                 */
                "application/json": components["schemas"]["NodeRegionRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Node"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    ListProxies: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListProxiesResponse"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    SetDiskQuota: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "quotaMb": 20480,
                 *       "reason": "A large modpack"
                 *     }
                 */
                "application/json": components["schemas"]["SetDiskQuotaRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Server"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    SuspendServer: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "reason": "Abuse report 4711"
                 *     }
                 */
                "application/json": components["schemas"]["SuspendServerRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Server"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    UnsuspendServer: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Server id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "reason": "Settled"
                 *     }
                 */
                "application/json": components["schemas"]["UnsuspendServerRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Server"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    ListMachines: {
        parameters: {
            query?: {
                /** @description As in `state` of the reply. */
                state?: string;
                /** @description Only those in a passing state for at least so long. */
                stuckForSeconds?: number;
                /** @description Empty: all. */
                kind?: "" | "server" | "grant";
                /** @description Part of an id, a name or an account id. */
                search?: string;
                /** @description 0: 50; at most 200. */
                limit?: number;
                /** @description `next` of the previous page. */
                after?: string;
                /** @description Count them too. */
                counts?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListMachinesResponse"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    GetMachine: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A server's or a grant's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperatorMachineDetail"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    SendToMachine: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A server's or a grant's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "event": "ALARM",
                 *       "reason": "The engine hung and was restarted"
                 *     }
                 */
                "application/json": components["schemas"]["SendToMachineRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SendToMachineResponse"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    StreamMachines: {
        parameters: {
            query?: {
                /** @description Only this machine. */
                id?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            default: components["responses"]["Error"];
        };
    };
    ListClients: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListClientsResponse"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    RegisterClient: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "Launcher",
                 *       "homepage": "https://launcher.example",
                 *       "scopes": [
                 *         "servers:list"
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["RegisterClientRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Client"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    DisableClient: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description As it was given at registration. */
                clientId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ClientReason"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Client"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    EnableClient: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description As it was given at registration. */
                clientId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ClientReason"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Client"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    ListAccounts: {
        parameters: {
            query?: {
                /** @description 0: 100; at most 1000. */
                limit?: number;
                /** @description Part of an id, a name, or an e-mail address of its users. Empty: all. */
                search?: string;
                /** @description The last id of the previous page. */
                after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListAccountsResponse"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    GetAccount: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Account id. */
                accountId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperatorAccountDetail"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    CreditAccount: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Account id. */
                accountId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "amountMicros": "5000000",
                 *       "kind": "credit",
                 *       "note": "Sorry for the outage"
                 *     }
                 */
                "application/json": components["schemas"]["CreditAccountRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperatorAccount"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    SetAccountLimits: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Account id. */
                accountId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "maxRamMb": 32768,
                 *       "maxServers": 20,
                 *       "reason": "Hosts the tournament"
                 *     }
                 */
                "application/json": components["schemas"]["SetAccountLimitsRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperatorAccount"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    InviteAccount: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "email": "steve@example.org"
                 *     }
                 */
                "application/json": components["schemas"]["InviteAccountRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InviteAccountResponse"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    ListAccountInvitations: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListAccountInvitationsResponse"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    CancelAccountInvitation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description As ListAccountInvitations has it. */
                invitationId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["CancelAccountInvitationRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EmptyReply"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    SetAccountOperator: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Account id. */
                accountId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "operator": true,
                 *       "reason": "Runs it while I am away"
                 *     }
                 */
                "application/json": components["schemas"]["SetAccountOperatorRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EmptyReply"];
                };
            };
            /** @description Not as it should be sent (INVALID_ARGUMENT); or FAILED_PRECONDITION: the only operator stays one. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorStatus"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    MakeResetLink: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Account id. */
                accountId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "reason": "Forgot it; known by voice"
                 *     }
                 */
                "application/json": components["schemas"]["MakeResetLinkRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MakeResetLinkResponse"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    RemoveAccountSecondFactor: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Account id. */
                accountId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "reason": "Lost phone; known by voice"
                 *     }
                 */
                "application/json": components["schemas"]["RemoveAccountSecondFactorRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EmptyReply"];
                };
            };
            /** @description Not as it should be sent (INVALID_ARGUMENT); or FAILED_PRECONDITION: it must have one, and be another account than the own. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorStatus"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    ReconcileLedger: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Empty"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReconcileLedgerResponse"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    ListOrphans: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListOrphansResponse"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    RemoveOrphan: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "kind": "data",
                 *       "id": "old-lobby",
                 *       "reason": "Its owner left in 2024"
                 *     }
                 */
                "application/json": components["schemas"]["RemoveOrphanRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RemoveOrphanResponse"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    Metrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            default: components["responses"]["Error"];
        };
    };
    GetMe: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Me"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    RequestSignUp: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RequestSignUpRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EmptyReply"];
                };
            };
            /** @description Not as it should be sent (INVALID_ARGUMENT); or FAILED_PRECONDITION: sign-up must be open, and e-mail set up. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorStatus"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    SignUp: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SignUpRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Me"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    SignIn: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SignInRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Me"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    SignInWithCode: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SignInWithCodeRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Me"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    SignOut: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Empty"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EmptyReply"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    ChangePassword: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangePasswordRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EmptyReply"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    ProvePassword: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ProvePasswordRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EmptyReply"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    SendVerification: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Empty"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EmptyReply"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    VerifyEmail: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["VerifyEmailRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EmptyReply"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    RequestPasswordReset: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RequestPasswordResetRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EmptyReply"];
                };
            };
            /** @description Not as it should be sent (INVALID_ARGUMENT); or FAILED_PRECONDITION: e-mail must be set up here. Otherwise an operator creates the link (MakeResetLink). */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorStatus"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    ResetPassword: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ResetPasswordRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EmptyReply"];
                };
            };
            /** @description Not as it should be sent (INVALID_ARGUMENT); or FAILED_PRECONDITION: the link must be unused and not expired. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorStatus"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    ChangeEmail: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangeEmailRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangeEmailResponse"];
                };
            };
            /** @description Not as it should be sent (INVALID_ARGUMENT); or FAILED_PRECONDITION: it must be another address than the present one. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorStatus"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    GetSecondFactor: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SecondFactor"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    BeginSecondFactor: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Empty"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BeginSecondFactorResponse"];
                };
            };
            /** @description Not as it should be sent (INVALID_ARGUMENT); or FAILED_PRECONDITION: there must be none yet. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorStatus"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    ConfirmSecondFactor: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ConfirmSecondFactorRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecoveryCodes"];
                };
            };
            /** @description Not as it should be sent (INVALID_ARGUMENT); or FAILED_PRECONDITION: a key must have been given (`BeginSecondFactor`), and none be in force. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorStatus"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    RemoveSecondFactor: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RemoveSecondFactorRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EmptyReply"];
                };
            };
            /** @description Not as it should be sent (INVALID_ARGUMENT); or FAILED_PRECONDITION: there must be one. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorStatus"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    RenewRecoveryCodes: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RenewRecoveryCodesRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecoveryCodes"];
                };
            };
            /** @description Not as it should be sent (INVALID_ARGUMENT); or FAILED_PRECONDITION: there must be a second factor. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErrorStatus"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    ListSessions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListSessionsResponse"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    EndSession: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EndSessionRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EmptyReply"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    EndOtherSessions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Empty"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndOtherSessionsResponse"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    ListKeys: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListKeysResponse"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    MintKey: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "backup script",
                 *       "scopes": [
                 *         "servers:read",
                 *         "backups"
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["MintKeyRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MintKeyResponse"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    RevokeKey: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RevokeKeyRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EmptyReply"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    ListSshKeys: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListSshKeysResponse"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    AddSshKey: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AddSshKeyRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SshKey"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    RemoveSshKey: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RemoveSshKeyRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EmptyReply"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    ListConnectedApps: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListConnectedAppsResponse"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    DisconnectApp: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DisconnectAppRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EmptyReply"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    ListInvitations: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListInvitationsResponse"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    AcceptInvitation: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["InvitationRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EmptyReply"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    DeclineInvitation: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["InvitationRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EmptyReply"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    LookUpDevice: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LookUpDeviceRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeviceRequest"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    ApproveDevice: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ApproveDeviceRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EmptyReply"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    DenyDevice: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DenyDeviceRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EmptyReply"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    Health: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        status: string;
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    Readiness: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        ready: boolean;
                        parts: {
                            [key: string]: "ok" | "unavailable";
                        };
                        /** @description Of a standby: what it waits for. */
                        reason?: string;
                    };
                };
            };
            /** @description At least one part does not. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        ready: boolean;
                        parts: {
                            [key: string]: "ok" | "unavailable";
                        };
                        /** @description Of a standby: what it waits for. */
                        reason?: string;
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    GetPublicStatus: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Of the Server. */
                publicSlug: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PublicStatus"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    StartDevice: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    client_id?: string;
                    /** @default servers:list */
                    scope?: string;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        device_code: string;
                        user_code: string;
                        /** @deprecated */
                        verify_url: string;
                        verification_uri: string;
                        verification_uri_complete: string;
                        /** @description Seconds. */
                        expires_in: number;
                        /** @description Seconds. */
                        interval: number;
                    };
                };
            };
            /** @description Refused, or not decided yet. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        error: "invalid_client" | "invalid_scope" | "invalid_request" | "invalid body";
                    };
                };
            };
            /** @description Too many. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        error: "rate_limited";
                    };
                };
            };
            /** @description Trouble here; try again. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        error: "server_error";
                    };
                };
            };
        };
    };
    PollDevice: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    device_code: string;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        access_token: string;
                        /** @description `Bearer`; `ApiKey` for the command line. */
                        token_type: string;
                        scope: string;
                        /** @description For the command line only: the same as `access_token`, for the header x-api-key. */
                        api_key?: string;
                    };
                };
            };
            /** @description Refused, or not decided yet. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        error: "authorization_pending" | "slow_down" | "access_denied" | "expired_token" | "invalid_request" | "invalid body";
                    };
                };
            };
            /** @description Trouble here; try again. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        error: "server_error";
                    };
                };
            };
        };
    };
    DeviceAuthorization: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/x-www-form-urlencoded": {
                    client_id: string;
                    scope?: string;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        device_code: string;
                        user_code: string;
                        /** @deprecated */
                        verify_url: string;
                        verification_uri: string;
                        verification_uri_complete: string;
                        /** @description Seconds. */
                        expires_in: number;
                        /** @description Seconds. */
                        interval: number;
                    };
                };
            };
            /** @description Refused, or not decided yet. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        error: "invalid_client" | "invalid_scope" | "invalid_request";
                    };
                };
            };
            /** @description Too many. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        error: "rate_limited";
                    };
                };
            };
            /** @description Trouble here; try again. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        error: "server_error";
                    };
                };
            };
        };
    };
    DeviceToken: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/x-www-form-urlencoded": {
                    /** @constant */
                    grant_type: "urn:ietf:params:oauth:grant-type:device_code";
                    device_code: string;
                    client_id: string;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        access_token: string;
                        /** @description `Bearer`; `ApiKey` for the command line. */
                        token_type: string;
                        scope: string;
                        /** @description For the command line only: the same as `access_token`, for the header x-api-key. */
                        api_key?: string;
                    };
                };
            };
            /** @description Refused, or not decided yet. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        error: "authorization_pending" | "slow_down" | "access_denied" | "expired_token" | "invalid_client" | "invalid_grant" | "invalid_request" | "unsupported_grant_type";
                    };
                };
            };
            /** @description Trouble here; try again. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        error: "server_error";
                    };
                };
            };
        };
    };
    RevokeToken: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/x-www-form-urlencoded": {
                    token: string;
                    token_type_hint?: string;
                    client_id: string;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
            /** @description Refused, or not decided yet. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        error: "invalid_client" | "invalid_request" | "unsupported_token_type";
                    };
                };
            };
            /** @description Trouble here; try again. */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        error: "server_error";
                    };
                };
            };
        };
    };
    OAuthMetadata: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        issuer: string;
                        device_authorization_endpoint: string;
                        token_endpoint: string;
                        token_endpoint_auth_methods_supported: string[];
                        revocation_endpoint: string;
                        revocation_endpoint_auth_methods_supported: string[];
                        grant_types_supported: string[];
                        response_types_supported: string[];
                        scopes_supported: string[];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    CheckoutCallback: {
        parameters: {
            query?: never;
            header: {
                /** @description Over the raw body, as Stripe makes it. */
                "stripe-signature": string;
            };
            path: {
                /** @description `stripe`. */
                provider: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EmptyReply"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    OpenApi: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
        };
    };
}
