import type { MigrationInterface, QueryRunner, Table } from 'typeorm';
import { all, bigint, boolean, integer, ofServer, table, text } from './table.ts';

/** All tables of 0.1.0. */
export class Initial1795761000000 implements MigrationInterface {
  name = 'Initial1795761000000';

  async up(runner: QueryRunner): Promise<void> {
    for (const each of tables()) await runner.createTable(each);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const { name } of tables().toReversed()) await runner.dropTable(name);
  }
}

/**
 * Returns all tables, each after the tables that it references. Builds new objects on each call, because TypeORM writes
 * the names of constraints into them.
 */
function tables(): Table[] {
  return [
    // Accounts and users.
    table('accounts', { id: text().primary(), name: text(), createdAt: bigint() }),
    table('users', {
      id: text().primary(),
      email: text().unique(),
      emailVerified: boolean(),
      passwordHash: text(),
      accountId: text().references('accounts').index(),
      operator: boolean(),
      createdAt: bigint(),
    }),
    table('account_invitations', {
      id: text().primary(),
      hash: text().unique(),
      email: text().unique(),
      invitedBy: text(),
      ...all(bigint, 'createdAt', 'expiresAt'),
    }),
    table('email_tokens', {
      hash: text().primary(),
      userId: text().references('users').index(),
      email: text(),
      expiresAt: bigint(),
      purpose: text(),
    }),
    table('sessions', {
      id: text().primary(),
      userId: text().references('users').index(),
      ...all(bigint, 'createdAt', 'seenAt'),
      expiresAt: bigint().index(),
      ...all(text, 'ip', 'userAgent'),
      provedAt: bigint(),
    }),
    table('sign_in_places', {
      userId: text().references('users').primary(),
      place: text().primary(),
      seenAt: bigint(),
    }),
    table('second_factors', {
      userId: text().references('users').primary(),
      sealedKey: text(),
      enabledAt: bigint().nullable(),
      lastStep: bigint(),
    }),
    table('recovery_codes', { userId: text().references('users').primary(), hash: text().primary() }),
    table('provider_links', {
      ...all(() => text().primary(), 'issuer', 'subject'),
      userId: text().references('users'),
      email: text(),
      operator: boolean(),
      createdAt: bigint(),
    }).unique('userId', 'issuer'),
    table('ssh_keys', {
      id: text().primary(),
      userId: text().references('users'),
      ...all(text, 'name', 'type', 'fingerprint'),
      createdAt: bigint(),
      lastUsedAt: bigint().nullable(),
    }).unique('userId', 'fingerprint'),
    table('eula_acceptances', {
      accountId: text().references('accounts').primary(),
      userId: text().references('users'),
      url: text(),
      acceptedAt: bigint(),
    }),

    // Keys, apps and device grants.
    table('api_keys', {
      id: text().primary(),
      hash: text().unique(),
      ...all(text, 'name', 'last4'),
      userId: text().references('users').index(),
      accountId: text().references('accounts').index(),
      scopes: text(),
      createdAt: bigint(),
      lastUsedAt: bigint().nullable(),
      expiresAt: bigint().nullable(),
      revokedAt: bigint().nullable(),
      serverIds: text().nullable(),
    }),
    table('clients', {
      id: text().primary(),
      ...all(text, 'name', 'homepage', 'scopes'),
      createdAt: bigint(),
      disabledAt: bigint().nullable(),
    }),
    table('app_tokens', {
      id: text().primary(),
      hash: text().unique(),
      clientId: text().references('clients'),
      userId: text().references('users'),
      scope: text(),
      createdAt: bigint(),
      lastUsedAt: bigint().nullable(),
      revokedAt: bigint().nullable(),
      expiresAt: bigint(),
    }).index('userId', 'clientId'),
    table('grants', {
      id: text().primary(),
      deviceHash: text().unique(),
      userHmac: text().unique(),
      clientId: text().nullable(),
      userId: text().nullable(),
      ...all(text, 'ip', 'userAgent', 'state'),
      createdAt: bigint(),
      expiresAt: bigint().index(),
      snapshot: text(),
      changedAt: bigint(),
      history: text(),
    }),
    table('grant_starts', { address: text().primary(), at: bigint().primary().index(), nth: bigint().primary() }),
    table('sealed_tokens', { grantId: text().primary(), sealed: text(), at: bigint() }),

    // Servers.
    // The longest texts are last, because SQLite reads a row's overflow pages only for the columns on them.
    table('servers', {
      id: text().primary(),
      name: text(),
      hostname: text().unique(),
      accountId: text().references('accounts'),
      ...all(text, 'container', 'type', 'version'),
      ramMb: integer(),
      ...all(text, 'plan', 'region', 'state', 'motd', 'properties'),
      idleTimeoutMinutes: integer(),
      ...all(text, 'awakeHours', 'awakeTimeZone', 'ignoredPlayers', 'tags'),
      ...all(text, 'alertWebhookUrl', 'modpackPlatform', 'modpackRef', 'modpackVersion'),
      ...all(bigint, 'createdAt', 'updatedAt'),
      ...all(boolean, 'sftpEnabled', 'waitingRoom'),
      networkFront: text(),
      networkPort: integer().nullable().unique(),
      ...all(text, 'clientVersions', 'jvmPreset', 'jvmOptions', 'builds', 'refusedBuild'),
      pendingUpdate: text().nullable(),
      ...all(text, 'lastStatus', 'coldStartsMs', 'snapshot'),
    })
      .index('accountId', 'createdAt', 'id')
      .index('state', 'id'),
    table('transitions', {
      serverId: ofServer().primary(),
      seq: bigint().primary(),
      at: bigint(),
      ...all(text, 'event', 'from', 'to', 'cause'),
    }),
    table('diagnostics', {
      serverId: ofServer().primary(),
      seq: bigint().primary(),
      at: bigint(),
      ...all(text, 'kind', 'code', 'summary', 'suggestion', 'evidence', 'insights'),
    }),
    table('suspensions', { serverId: ofServer().primary(), reason: text(), userId: text(), at: bigint() }),
    table('maintenance', { serverId: ofServer().primary(), jobId: text(), kind: text(), target: text(), step: text() }),
    table('wake_policies', {
      serverId: ofServer().primary(),
      mode: text(),
      maxWakesPerDay: integer(),
      ...all(text, 'asleepMotd', 'maintenanceText'),
    }),
    table('public_statuses', {
      serverId: ofServer().primary(),
      slug: text().nullable().unique(),
      ...all(boolean, 'enabled', 'showAddress'),
    }),
    table('server_names', {
      name: text().primary(),
      serverId: ofServer().primary().index(),
      createdAt: bigint(),
      provedAt: bigint().nullable(),
      expiresAt: bigint(),
    }),
    table('server_ports', {
      hostPort: integer().primary(),
      serverId: ofServer(),
      ...all(integer, 'slot', 'containerPort', 'bedrockProtocol'),
      ...all(text, 'proto', 'label', 'bedrockVersion'),
      wakes: boolean(),
    })
      .unique('serverId', 'containerPort', 'proto')
      .unique('serverId', 'slot'),
    table('server_disks', {
      serverId: ofServer().primary(),
      quotaOverrideMb: bigint(),
      realBytes: bigint().nullable(),
      logicalBytes: bigint().nullable(),
      measuredAt: bigint().nullable(),
    }),
    table('server_databases', {
      name: text().primary(),
      serverId: text().nullable().unique(),
      generation: integer(),
      settled: boolean(),
      createdAt: bigint(),
    }),
    table('server_mods', {
      serverId: ofServer().primary(),
      source: text().primary(),
      projectId: text().primary(),
      ...all(text, 'slug', 'name', 'versionSpec'),
      wished: boolean(),
      ...all(text, 'versionId', 'versionNumber', 'path', 'urls'),
      sizeBytes: bigint(),
      ...all(text, 'sha512', 'sha1', 'requires'),
    }),
    table('schedules', {
      id: text().primary(),
      serverId: ofServer().index(),
      ...all(text, 'kind', 'command', 'cronExpr', 'timeZone'),
      enabled: boolean(),
      onlyWhenEmpty: boolean(),
      warnSeconds: integer(),
      ...all(text, 'lastStatus', 'lastError'),
      createdAt: bigint(),
      lastRunAt: bigint().nullable(),
      nextRunAt: bigint().nullable().index(),
      playedMinutes: integer(),
      runningSince: bigint().nullable(),
      ...all(text, 'userId', 'keyId'),
    }),
    table('sftp_users', {
      serverId: ofServer().primary(),
      username: text().unique(),
      passwordHash: text(),
      changedAt: bigint(),
    }),
    table('console_salts', { serverId: ofServer().primary(), salt: text() }),

    // Members, audit log and templates.
    table('members', {
      id: text().primary(),
      serverId: ofServer(),
      email: text().nullable().index(),
      userId: text().nullable().index(),
      ...all(text, 'role', 'invitedBy'),
      createdAt: bigint(),
      acceptedAt: bigint().nullable(),
      linkHash: text().unique(),
      linkExpiresAt: bigint(),
      linkOpensAccount: boolean(),
    }).unique('serverId', 'email'),
    table('audit', {
      id: text().primary(),
      ...all(text, 'accountId', 'serverId', 'userId', 'through', 'action', 'detail'),
      createdAt: bigint(),
    })
      .index('accountId', 'id')
      .index('serverId', 'id'),
    table('templates', {
      id: text().primary(),
      accountId: text().references('accounts').index(),
      ...all(
        text,
        'name',
        'description',
        'motd',
        'plan',
        'serverType',
        'version',
        'properties',
        'modpackPlatform',
        'modpackRef',
        'modpackVersion',
      ),
      ramMb: integer(),
      createdAt: bigint(),
    }),

    // Metrics, alerts and webhooks.
    table('metric_samples', { serverId: ofServer().primary(), at: bigint().primary().index(), figures: text() }),
    table('tps_incidents', { serverId: ofServer().primary(), openedAt: bigint() }),
    table('webhooks', {
      id: text().primary(),
      accountId: text().references('accounts').index(),
      serverId: ofServer().nullable().index(),
      ...all(text, 'url', 'format', 'kinds'),
      secretNth: integer(),
      rotatedAt: bigint().nullable(),
      failingSince: bigint().nullable(),
      offAt: bigint().nullable(),
      createdAt: bigint(),
    }),
    table('webhook_messages', {
      id: text().primary(),
      queue: text(),
      webhookId: text().references('webhooks', 'CASCADE').nullable().index(),
      serverId: ofServer().nullable().index(),
      notice: text(),
      ...all(bigint, 'createdAt', 'dueAt'),
      tries: integer(),
      state: text(),
      status: integer(),
      answer: text(),
      doneAt: bigint().nullable(),
    })
      .index('queue', 'id')
      .index('state', 'dueAt'),

    // Backups.
    table('backups', {
      serverId: ofServer().primary(),
      id: text().primary(),
      kind: text(),
      state: text().index(),
      createdAt: bigint(),
      finishedAt: bigint().nullable(),
      format: text(),
      ...all(bigint, 'sizeBytes', 'addedBytes', 'treeBytes'),
      sha256: text(),
      locked: boolean(),
      ...all(text, 'error', 'type', 'version', 'modpackPlatform', 'modpackRef', 'modpackVersion', 'levelName'),
      replacedBy: text().nullable(),
      ...all(text, 'location', 'note', 'label'),
    }),
    table('backup_mods', {
      serverId: text().primary(),
      backupId: text().primary(),
      mods: text(),
    }).references('backups', { serverId: 'serverId', backupId: 'id' }),
    table('backup_retention', {
      serverId: ofServer().primary(),
      ...all(integer, 'keepLast', 'hourly', 'daily', 'weekly', 'monthly'),
    }),
    table('backup_uploads', {
      serverId: text().primary(),
      backupId: text().primary(),
      location: text(),
      at: bigint(),
    }).references('backups', { serverId: 'serverId', backupId: 'id' }),
    table('offsite_removals', {
      location: text().primary(),
      serverId: text().primary(),
      backupId: text().primary(),
      at: bigint(),
    }),
    table('saving_off', { serverId: ofServer().primary(), at: bigint() }),

    // Money. Entries outlive their server.
    table('wallets', {
      accountId: text().references('accounts').primary(),
      ...all(bigint, 'balanceMicros', 'spendCapMicros'),
      ...all(text, 'spendCapAction', 'spentMonth'),
      spentMicros: bigint(),
      capNotifiedMonth: text(),
      createdAt: bigint(),
    }),
    table('ledger', {
      id: bigint().primary(),
      accountId: text().references('accounts'),
      ...all(text, 'serverId', 'kind'),
      amountMicros: bigint(),
      ...all(text, 'note', 'ref', 'sessionId'),
      sessionHour: integer(),
      ts: bigint(),
      closedAt: bigint().nullable(),
    })
      .unique('kind', 'ref')
      .index('serverId', 'ts')
      .index('accountId', 'id'),
    table('awake_sessions', {
      id: text().primary(),
      serverId: text(),
      accountId: text().references('accounts'),
      ...all(text, 'cause', 'plan'),
      ramMb: integer(),
      ...all(bigint, 'rateMicros', 'startedAt'),
      readyAt: bigint().nullable(),
      endedAt: bigint().nullable().index(),
      ending: text(),
      billable: integer(),
      ...all(bigint, 'provenAt', 'awakeMs'),
      ...all(integer, 'ticks', 'remainder'),
      ...all(bigint, 'amountMicros', 'serverCreatedAt'),
    }).index('serverId', 'startedAt'),
    table('ticks', {
      serverId: text().primary(),
      sessionId: text().primary(),
      n: integer().primary(),
      ramMb: integer(),
      ...all(bigint, 'rateMicros', 'amountMicros'),
      at: bigint().index(),
    }),
    table('account_limits', {
      accountId: text().references('accounts').primary(),
      maxServers: integer().nullable(),
      maxRamMb: integer().nullable(),
    }),
    table('checkouts', {
      id: text().primary(),
      accountId: text().references('accounts').index(),
      provider: text(),
      amountUsd: integer(),
      amountMicros: bigint(),
      state: text(),
      providerRef: text().nullable().unique(),
      createdAt: bigint(),
      paidAt: bigint().nullable(),
    }),

    // The installation.
    table('meta', { key: text().primary(), value: text() }),
    table('leases', {
      name: text().primary(),
      ...all(text, 'token', 'hostname', 'scope'),
      pid: integer(),
      startedAt: text(),
      expiresAt: bigint(),
    }),
  ].map((each) => each.build());
}
