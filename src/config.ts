import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { fileVariable, meantBy, withSecretFiles } from './kernel/setting-kinds.ts';
import { decodeText } from './kernel/decode-text.ts';
import * as kind from './kernel/setting-kinds.ts';

/** A setting from the environment. */
export interface Setting<T> {
  /** The environment variable. */
  name: string;
  kind: kind.Kind<T>;
  /** The value of an absent or empty variable, in text form. */
  fallback: string;
  help: string;
  /** Whether the value must never be shown, not even in an error. */
  secret: boolean;
}

const MANIFEST_URL = 'https://piston-meta.mojang.com/mc/game/version_manifest_v2.json';

const SESSION_URL = 'https://sessionserver.mojang.com';

/** All settings. Parsing, validation and the help text are generated from this table. */
export const settings = {
  dataDir: setting('DATA_DIR', kind.directory, './data', 'Folder of all data: servers, backups, database, keys.'),
  httpHost: setting('HTTP_HOST', kind.host, '127.0.0.1', 'Address the API and the pages listen on.'),
  httpPort: setting('HTTP_PORT', kind.port, '8080', 'Port of the API and the pages. 0: any free port.'),
  baseUrl: setting(
    'BASE_URL',
    kind.optional(kind.siteUrl),
    '',
    'Address of the API and the pages for browsers. Empty: http://localhost:HTTP_PORT.',
  ),
  proxy: setting(
    'PROXY',
    kind.oneOf('child', 'embedded', 'external'),
    'child',
    'Where players connect. child: a separate process that stays up while the service restarts. embedded: the service itself. external: proxies that you start with `npm run proxy`.',
  ),
  proxyToken: secret(
    'PROXY_TOKEN',
    kind.text,
    'Secret that external proxies use to connect to the service. Empty: the service creates one in DATA_DIR/proxy.token.',
  ),
  proxyDrainHours: setting(
    'PROXY_DRAIN_HOURS',
    kind.integer(0, 596),
    '12',
    'How long players may stay on a proxy that is being replaced.',
  ),
  proxyHost: setting('PROXY_HOST', kind.host, '::', 'Address players connect to.'),
  proxyPort: setting('PROXY_PORT', kind.port, '25565', 'Port players connect to. 0: any free port.'),
  proxyProtocolFrom: setting(
    'PROXY_PROTOCOL_FROM',
    kind.networks,
    '',
    "Load balancers in front of PROXY_PORT. They must begin each connection with a PROXY header (v1 or v2) that contains the player's address.",
  ),
  forwardingFrom: setting(
    'FORWARDING_FROM',
    kind.networks,
    '',
    'Minecraft proxies in front of PROXY_PORT (Velocity, BungeeCord, Geyser). The player address, UUID and name that they forward count. From other addresses, forwarded data only passes through.',
  ),
  floodgateKey: secret(
    'FLOODGATE_KEY',
    kind.floodgateKey,
    "Floodgate's key, as `base64 -w0 key.pem` prints it. It decrypts the Bedrock player's address, UUID and name that Geyser forwards from FORWARDING_FROM.",
  ),
  publicHost: setting(
    'PUBLIC_HOST',
    kind.domain,
    'localhost',
    'Domain of the servers. Players join <server id>.<this domain>.',
  ),
  defaultServer: setting(
    'DEFAULT_SERVER',
    kind.optional(kind.code),
    '',
    'Id of the server for players who enter no server name. Empty: with PUBLIC_HOST=localhost, the only server, or the oldest if players enter localhost.',
  ),
  ownNames: setting(
    'OWN_NAMES',
    kind.oneOf('on', 'off'),
    'on',
    'Whether owners can add host names of their own domains to servers, proved by DNS.',
  ),
  extraPorts: setting(
    'EXTRA_PORTS',
    kind.portRange,
    '32000-32767',
    'Ports that servers can use for mods, such as voice chat. A port for Bedrock players is 19132 if that is free.',
  ),
  networkPorts: setting(
    'NETWORK_PORTS',
    kind.portRange,
    '25700-25799',
    'Ports at which the fronts of server networks find their private backends, one port for each.',
  ),
  networkHost: setting(
    'NETWORK_HOST',
    kind.host,
    '127.0.0.1',
    'Address of NETWORK_PORTS. Keep fronts and no one else able to reach it. External proxies need the same setting.',
  ),
  sftpHost: setting('SFTP_HOST', kind.host, '::', 'Address SFTP listens on.'),
  sftpPort: setting('SFTP_PORT', kind.port, '2022', 'Port of SFTP. 0: any free port.'),
  sftpPublicHost: setting(
    'SFTP_PUBLIC_HOST',
    kind.optional(kind.host),
    '',
    'Host shown to owners for SFTP. Empty: PUBLIC_HOST.',
  ),
  databaseUrl: secret('DATABASE_URL', kind.databaseUrl, 'postgres://… or sqlite:<file>. Empty: a file in DATA_DIR.'),
  standby: setting(
    'STANDBY',
    kind.oneOf('refuse', 'wait'),
    'refuse',
    'What to do if another service uses this database: refuse to start, or wait and take over.',
  ),
  engine: setting(
    'ENGINE',
    kind.engine,
    'auto',
    'How games run: as containers (docker), as containers on several machines (swarm) or as child processes (process). auto: docker if it responds, otherwise process.',
  ),
  engineChange: setting(
    'ENGINE_CHANGE',
    kind.oneOf('refuse', 'accept'),
    'refuse',
    'What to do if ENGINE has changed while servers are awake. Use accept only if their games can no longer run.',
  ),
  gamesReach: setting(
    'GAMES_REACH',
    kind.oneOf('internet', 'everything'),
    'internet',
    'ENGINE=docker or swarm: what games may connect to. internet: the internet and their database. everything: also private networks and this machine.',
  ),
  trustTenants: setting(
    'TRUST_TENANTS',
    kind.flag,
    'false',
    'ENGINE=process: let owners and members of servers upload code and run it on this machine. Without bubblewrap, the code can read the keys and the database of this service.',
  ),
  javaHomes: setting(
    'JAVA_HOMES',
    kind.directories,
    '',
    'ENGINE=process: folders of Java installations. Empty: JAVA_HOME, java in PATH, and all in /usr/lib/jvm.',
  ),
  javaHome: setting(
    'JAVA_HOME',
    kind.directories,
    '',
    'ENGINE=process: the Java installation, if JAVA_HOMES is empty.',
  ),
  javaDownload: setting(
    'JAVA_DOWNLOAD',
    kind.flag,
    'true',
    'ENGINE=process: download Java to DATA_DIR/java if no installed one can run a server.',
  ),
  dockerHost: setting('DOCKER_HOST', kind.dockerUrl, 'unix:///var/run/docker.sock', 'Address of the Docker engine.'),
  swarmNetwork: setting(
    'SWARM_NETWORK',
    kind.networkName,
    'dormouse-games',
    'ENGINE=swarm: overlay network of games and proxies. A second network, named <this>-nodes, connects the service and the nodes.',
  ),
  swarmOverlay: setting(
    'SWARM_OVERLAY',
    kind.flag,
    'true',
    'ENGINE=swarm: whether games use an overlay network. false: each game uses a port of its node.',
  ),
  swarmNodeSocket: setting(
    'SWARM_NODE_SOCKET',
    kind.text,
    '/var/run/docker.sock',
    'ENGINE=swarm: path of the Docker socket on each node.',
  ),
  fenceCommand: secret(
    'FENCE_COMMAND',
    kind.text,
    'ENGINE=swarm: shell command that cuts the power of a node and succeeds once the node is off. Receives NODE_NAME, NODE_ADDRESS and NODE_ID.',
  ),
  swarmLostAfterSeconds: setting(
    'SWARM_LOST_AFTER_S',
    kind.integer(0, 86_400),
    '0',
    'ENGINE=swarm: a node that does not respond for this long counts as off, although its games may still run and damage worlds. 0: never.',
  ),
  gameImage: setting('GAME_IMAGE', kind.image, 'itzg/minecraft-server', 'Container image of Java game servers.'),
  sandboxImage: setting('SANDBOX_IMAGE', kind.image, 'dormouse/sandbox:latest', 'Image of the built-in game server.'),
  sandboxFaults: setting('SANDBOX_FAULTS', kind.faults, '', 'Faults that sandbox servers simulate, for tests.'),
  minecraftEula: setting(
    'MINECRAFT_EULA',
    kind.oneOf('ask', 'accept'),
    'ask',
    'Who accepts the Minecraft EULA, https://aka.ms/MinecraftEULA, for all servers except the sandbox. ask: each account for its own servers. accept: you for all servers.',
  ),
  region: setting('REGION', kind.code, 'na', 'Region code of this installation.'),
  nodeLabel: setting('NODE_LABEL', kind.text, 'node-1', 'Name of this machine, shown to owners.'),
  mysqlAdminUrl: secret('MYSQL_ADMIN_URL', kind.mysqlUrl, 'Account that can create databases. Empty: no databases.'),
  mysqlAddress: setting(
    'MYSQL_ADDRESS',
    kind.optional(kind.endpoint(3_306)),
    '',
    'host[:port] at which games reach the database server. Empty: as in MYSQL_ADMIN_URL.',
  ),
  mysqlGameHosts: setting(
    'MYSQL_GAME_HOSTS',
    kind.accountHosts,
    '127.0.0.1,::1,localhost,10.%,172.16.0.0/255.240.0.0,192.168.%,fd%',
    'Hosts from which games may sign in to their databases, besides this machine. %: any host.',
  ),
  mysqlTls: setting(
    'MYSQL_TLS',
    kind.oneOf('auto', 'verify', 'off'),
    'auto',
    'TLS to MYSQL_ADMIN_URL. auto: if the server supports it. verify: always, and the certificate is verified. off: never.',
  ),
  checkout: setting('CHECKOUT', kind.oneOf('test', 'stripe', 'off'), 'test', 'How wallets are funded.'),
  stripeSecretKey: secret('STRIPE_SECRET_KEY', kind.text, 'Needed by CHECKOUT=stripe.'),
  stripeWebhookSecret: secret('STRIPE_WEBHOOK_SECRET', kind.text, 'Needed by CHECKOUT=stripe.'),
  stripeApiUrl: setting('STRIPE_API_URL', kind.webUrl, 'https://api.stripe.com', "Address of Stripe's API."),
  pricePerGbHourMicros: setting(
    'PRICE_PER_GB_HOUR_MICROS',
    kind.price,
    '10000',
    'Metered plan: price per GB of RAM for an hour awake.',
  ),
  pricePerGbMonthMicros: setting(
    'PRICE_PER_GB_MONTH_MICROS',
    kind.price,
    '3000000',
    'Flat plan: price per GB of RAM for 30 days.',
  ),
  signupCreditMicros: setting(
    'SIGNUP_CREDIT_MICROS',
    kind.credit,
    '',
    'Credit of a new account, in millionths of the currency. Empty: if CHECKOUT=test, 1000000000 for the first operator and 100000000 for every other account; otherwise 0.',
  ),
  idleTimeoutMinutes: setting(
    'IDLE_TIMEOUT_MINUTES',
    kind.integer(1, 1_440),
    '10',
    'A server without players goes to sleep after this time, unless its owner sets another.',
  ),
  hungAfterSeconds: setting(
    'HUNG_AFTER_SECONDS',
    kind.integer(0, 86_400),
    '180',
    'A game that is silent on all its ports and in its log for this long is restarted, at most once an hour. 0: never.',
  ),
  startTimeoutSeconds: setting(
    'START_TIMEOUT_SECONDS',
    kind.integer(10, 7_200),
    '600',
    'A start fails if it takes longer than this and its log has been silent for as long.',
  ),
  maxServersPerAccount: setting(
    'MAX_SERVERS_PER_ACCOUNT',
    kind.integer(0, 1_000_000),
    '10',
    'Servers of an account, asleep or awake. Operators can change the limit of an account. 0: no limit.',
  ),
  maxRamMb: setting(
    'MAX_RAM_MB',
    kind.integer(512, 16_777_216),
    '65536',
    "Total RAM of an account's servers, asleep or awake. Operators can change the limit of an account.",
  ),
  diskQuotaMb: setting(
    'DISK_QUOTA_MB',
    kind.mbByRam,
    '0',
    "Limit of a server's files. By RAM: 2048:10240,4096:20480. 0: no limit.",
  ),
  accountDiskMb: setting(
    'ACCOUNT_DISK_MB',
    kind.integer(0, 1_073_741_824),
    '102400',
    "Limit of an account's servers and backups. Operators' accounts have no limit. 0: no limit.",
  ),
  callsPerSecond: setting(
    'CALLS_PER_SECOND',
    kind.integer(1, 100_000),
    '100',
    'API calls per key. Bursts may be three times as large. All keys of an account share twice this limit, and a fifth of that for expensive calls.',
  ),
  trustedProxies: setting(
    'TRUSTED_PROXIES',
    kind.cidrs,
    '',
    'Proxies whose X-Forwarded-For is trusted. They do not count as one client.',
  ),
  signup: setting(
    'SIGNUP',
    kind.oneOf('open', 'closed'),
    'closed',
    'Whether anyone can sign up (open), or only people with an invitation (closed). With SMTP_URL, sign-up needs a link sent by e-mail.',
  ),
  operatorsNeedSecondFactor: setting(
    'OPERATORS_NEED_SECOND_FACTOR',
    kind.flag,
    'false',
    'Whether operators must set up two-factor sign-in before they can use operator rights.',
  ),
  passwordSignIn: setting(
    'PASSWORD_SIGN_IN',
    kind.oneOf('everyone', 'operator'),
    'everyone',
    'Who can sign in with a password: everyone, or only the first operator, so that all others sign in with OIDC_ISSUER.',
  ),
  oidcIssuer: setting(
    'OIDC_ISSUER',
    kind.issuer,
    '',
    'Provider that people sign in with: the issuer of an OpenID Connect provider, or discord. Empty: only passwords.',
  ),
  oidcClientId: setting('OIDC_CLIENT_ID', kind.text, '', 'Client id of this installation at OIDC_ISSUER.'),
  oidcClientSecret: secret('OIDC_CLIENT_SECRET', kind.text, 'Belongs to OIDC_CLIENT_ID.'),
  oidcName: setting('OIDC_NAME', kind.text, '', 'Name of the provider on the sign-in page. Empty: its host.'),
  oidcOperatorGroup: setting(
    'OIDC_OPERATOR_GROUP',
    kind.text,
    '',
    'Group whose members are operators, checked at each sign-in with OIDC_ISSUER. Discord: <server id>/<role id>.',
  ),
  oidcGroupsClaim: setting('OIDC_GROUPS_CLAIM', kind.text, 'groups', 'Claim that lists the groups of a user.'),
  backupQuotaMb: setting(
    'BACKUP_QUOTA_MB',
    kind.integer(0, 16_777_216),
    '20480',
    'Limit of all backups of a server. 0: no limit.',
  ),
  backupStore: secret(
    'BACKUP_STORE',
    kind.optional(kind.archiveStore),
    'Off-site store of backups: restic: and any repository of restic. Empty: in DATA_DIR.',
  ),
  resticPassword: secret(
    'RESTIC_PASSWORD',
    kind.text,
    'Password of the repository in BACKUP_STORE. Empty: one is created in DATA_DIR/restic-password.',
  ),
  smtpUrl: secret(
    'SMTP_URL',
    kind.smtpUrl,
    'Mail server: smtp(s)://user:password@host:port. Empty: e-mails go to the log, without secret links.',
  ),
  mailFrom: setting('MAIL_FROM', kind.mailbox, 'dormouse@localhost', "Sender of the service's mail."),
  modrinthUrl: setting(
    'MODRINTH_URL',
    kind.webUrl,
    'https://api.modrinth.com',
    'Address of Modrinth, the registry of mods.',
  ),
  discordUrl: setting(
    'DISCORD_URL',
    kind.webUrl,
    'https://discord.com',
    'Address of Discord, for OIDC_ISSUER=discord.',
  ),
  curseforgeApiKey: secret('CURSEFORGE_API_KEY', kind.text, 'Empty: no mods from CurseForge.'),
  curseforgeUrl: setting('CURSEFORGE_URL', kind.webUrl, 'https://api.curseforge.com', 'Address of CurseForge.'),
  sessionServerUrl: setting('SESSION_SERVER_URL', kind.webUrl, SESSION_URL, 'Service that verifies players’ accounts.'),
  mojangApiUrl: setting(
    'MOJANG_API_URL',
    kind.webUrl,
    'https://api.mojang.com',
    'Service that looks up accounts by name.',
  ),
  versionManifestUrl: setting('VERSION_MANIFEST_URL', kind.webUrl, MANIFEST_URL, 'The list of Minecraft versions.'),
  paperUrl: setting(
    'PAPER_URL',
    kind.webUrl,
    'https://fill.papermc.io',
    'Download service of Paper, Folia and Velocity.',
  ),
  purpurUrl: setting('PURPUR_URL', kind.webUrl, 'https://api.purpurmc.org', 'Download service of Purpur.'),
  leafUrl: setting('LEAF_URL', kind.webUrl, 'https://api.leafmc.one', 'Download service of Leaf.'),
  pufferfishUrl: setting('PUFFERFISH_URL', kind.webUrl, 'https://ci.pufferfish.host', 'Jenkins of Pufferfish.'),
  fabricMetaUrl: setting(
    'FABRIC_META_URL',
    kind.webUrl,
    'https://meta.fabricmc.net',
    'Download service of Fabric’s launchers.',
  ),
  quiltMetaUrl: setting('QUILT_META_URL', kind.webUrl, 'https://meta.quiltmc.org', 'The list of Quilt’s versions.'),
  forgeUrl: setting(
    'FORGE_URL',
    kind.webUrl,
    'https://maven.minecraftforge.net',
    'Maven repository of Forge’s installers.',
  ),
  forgePromotionsUrl: setting(
    'FORGE_PROMOTIONS_URL',
    kind.webUrl,
    'https://files.minecraftforge.net/net/minecraftforge/forge/promotions_slim.json',
    'The list of Forge’s builds.',
  ),
  neoforgeUrl: setting(
    'NEOFORGE_URL',
    kind.webUrl,
    'https://maven.neoforged.net',
    'Maven repository of NeoForge’s installers.',
  ),
  adoptiumUrl: setting('ADOPTIUM_URL', kind.webUrl, 'https://api.adoptium.net', 'Download service of Java.'),
  logLevel: setting('LOG_LEVEL', kind.logLevel, 'info', 'The lowest level that is logged.'),
};

/** Names of the secret settings. Each secret may be in a separate file. */
const SECRETS = Object.values<Setting<unknown>>(settings).flatMap((each) => (each.secret ? [each.name] : []));

type Parsed = { -readonly [Key in keyof typeof settings]: (typeof settings)[Key] extends Setting<infer T> ? T : never };

/** Credits of test money: enough that a household never notices the meter. */
const TEST_CREDIT_MICROS = { first: 1_000_000_000, account: 100_000_000 };

type Defaulted = 'baseUrl' | 'defaultServer' | 'databaseUrl' | 'mysqlAddress' | 'signupCreditMicros';

/** The parsed settings. */
export type Config = Readonly<
  Omit<Parsed, Defaulted> & { [Key in Defaulted]: NonNullable<Parsed[Key]> } & {
    /** The credit of the first operator's account. */
    firstCreditMicros: number;
    /** Variables that restic's backends know, such as credentials. */
    resticEnvironment: Record<string, string>;
  }
>;

/** The variables that are passed to restic: its backends' credentials, proxies, and where its programs are and find files. */
const FOR_RESTIC =
  /^(?:AWS|AZURE|B2|GOOGLE|OS|ST|RCLONE)_\w+$|^RESTIC_(?:COMPRESSION|PACK_SIZE|REST_USERNAME|REST_PASSWORD)$|^(?:PATH|HOME|TMPDIR|SSH_AUTH_SOCK|SSL_CERT_FILE|(?:HTTPS?|NO)_PROXY|(?:https?|no)_proxy)$/;

const REPLACED = [
  'S3_ENDPOINT',
  'S3_REGION',
  'S3_PATH_STYLE',
  'S3_ACCESS_KEY_ID',
  'S3_SECRET_ACCESS_KEY',
  'BACKUP_ENCRYPTION_KEY',
] as const;

/** A setting is wrong. The message is one sentence for the person who starts the service and contains no secret. */
export class ConfigError extends Error {
  override name = 'ConfigError';
}

export interface ConfigOptions {
  /**
   * A file with variables that are missing from the environment. It need not exist. Default: `.env`; null reads no
   * file.
   */
  envFile?: string | null;
}

/**
 * Reads and validates all settings. The environment overrides the file, and an empty value means the default. Throws
 * ConfigError.
 */
export function loadConfig(env?: NodeJS.ProcessEnv, options?: ConfigOptions): Config {
  const texts = textsOf(env, options);
  refuseMistyped(texts);
  refuseS3(texts);
  const publicHost = texts[settings.publicHost.name] ?? '';
  if (isIP(publicHost) !== 0)
    throw new ConfigError(
      `PUBLIC_HOST is "${publicHost}", which is an IP address. Players join <server id>.PUBLIC_HOST, so it must be a name such as play.example.org, with DNS entries for play.example.org and *.play.example.org. With one server, players can use the address itself.`,
    );
  const parsed = Object.fromEntries(
    Object.entries<Setting<unknown>>(settings).map(([key, each]) => [key, read(each, texts[each.name] ?? '')]),
  ) as Parsed;
  if (parsed.checkout === 'stripe') {
    for (const key of ['stripeSecretKey', 'stripeWebhookSecret'] as const) {
      if (parsed[key] === '') throw new ConfigError(`${settings[key].name} is not set, but CHECKOUT=stripe needs it.`);
    }
  }
  for (const key of ['oidcClientId', 'oidcClientSecret'] as const) {
    if (parsed.oidcIssuer !== null && parsed[key] === '')
      throw new ConfigError(`${settings[key].name} is not set, but OIDC_ISSUER needs it.`);
  }
  if (parsed.passwordSignIn === 'operator' && parsed.oidcIssuer === null)
    throw new ConfigError('PASSWORD_SIGN_IN=operator needs OIDC_ISSUER, or most people could not sign in.');
  return Object.freeze({
    ...parsed,
    baseUrl: parsed.baseUrl ?? `http://localhost:${parsed.httpPort}`,
    defaultServer: parsed.defaultServer ?? '',
    resticEnvironment: Object.fromEntries(
      Object.entries(texts).flatMap(([name, text]) =>
        text !== undefined && FOR_RESTIC.test(name) ? [[name, text]] : [],
      ),
    ),
    databaseUrl: parsed.databaseUrl ?? `sqlite:${join(parsed.dataDir, 'dormouse.db')}`,
    mysqlAddress: parsed.mysqlAddress ?? addressOf(parsed.mysqlAdminUrl),
    signupCreditMicros: parsed.signupCreditMicros ?? (parsed.checkout === 'test' ? TEST_CREDIT_MICROS.account : 0),
    firstCreditMicros: parsed.signupCreditMicros ?? (parsed.checkout === 'test' ? TEST_CREDIT_MICROS.first : 0),
  });
}

/** Returns the texts of the environment and the file, including secrets in separate files. Throws ConfigError. */
export function textsOf(
  env: NodeJS.ProcessEnv = process.env,
  { envFile = '.env' }: ConfigOptions = {},
): NodeJS.Dict<string> {
  const texts = { ...(envFile === null ? {} : readEnvFile(envFile)), ...env };
  try {
    return withSecretFiles(texts, SECRETS);
  } catch (error) {
    throw new ConfigError((error as Error).message, { cause: error });
  }
}

/** Throws for a variable whose name is almost that of an unset setting. Other unknown variables are ignored. */
function refuseMistyped(texts: NodeJS.Dict<string>): void {
  const names = [...Object.values<Setting<unknown>>(settings).map(({ name }) => name), ...SECRETS.map(fileVariable)];
  const unset = names.filter((name) => texts[name] === undefined);
  for (const given of Object.keys(texts).filter((each) => !names.includes(each))) {
    const similar = meantBy(given, unset);
    if (similar !== undefined) throw new ConfigError(`${given} is not a setting. Did you mean ${similar}?`);
  }
}

/** Refuses the settings of earlier versions that sent backups to S3 themselves. */
function refuseS3(texts: NodeJS.Dict<string>): void {
  const isOld = texts[settings.backupStore.name]?.startsWith('s3:') ?? false;
  const old = isOld ? settings.backupStore.name : REPLACED.find((name) => texts[name] || texts[`${name}_FILE`]);
  if (old === undefined) return;
  throw new ConfigError(
    `${old} is from a version that sent backups to S3 itself. Backups now go to a repository of restic: set BACKUP_STORE=restic:s3:https://host/bucket/prefix, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and remove ${REPLACED.join(', ')}. See "Move from s3://" in docs/backups-off-site.md.`,
  );
}

function setting<T>(name: string, kind: kind.Kind<T>, fallback: string, help: string): Setting<T> {
  return { name, kind, fallback, help, secret: false };
}

function secret<T>(name: string, kind: kind.Kind<T>, help: string): Setting<T> {
  return { name, kind, fallback: '', help, secret: true };
}

function read<T>({ name, kind, fallback, secret }: Setting<T>, given: string): T {
  const { success, data } = kind.safeParse(given.trim() || fallback);
  if (success) return data;
  throw new ConfigError(`${name} ${secret ? '' : `is ${JSON.stringify(given)}, but `}must be ${kind.description}.`);
}

function addressOf(mysqlUrl: string | null): Config['mysqlAddress'] {
  if (mysqlUrl === null) return { host: '', port: 0 };
  const { hostname, port } = new URL(mysqlUrl);
  return { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? 3_306 : Number(port) };
}

function readEnvFile(file: string): NodeJS.Dict<string> {
  try {
    return parseEnv(decodeText(readFileSync(file)));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return {};
    throw new ConfigError(`${file} cannot be read (${code}).`, { cause: error });
  }
}
