import { isTagged } from '../../../machines/server.ts';
import type { ReplyOf } from '../../http/operation.ts';
import { isAtLeast } from '../../http/roles.ts';
import { confirmed } from '../../web/form.ts';
import { type Html, html } from '../../web/html.ts';
import { buttonForm } from '../../web/panel/form.ts';
import type { ServerRequest } from '../../web/panel/panel.ts';
import { sinceTime, wokenWords } from '../../web/panel/words.ts';
import { timeTag } from '../../web/panel/time.ts';
import { countText } from '../../web/text.ts';
import { type Obstacle, summaryText } from './obstacles.ts';
import { wayBack } from './way-back.ts';
import { type Incident, remedyLink, remedyOf } from './alerts.ts';
import type { InspectMachine } from '../api/machine.ts';

type Machine = ReplyOf<typeof InspectMachine>;
type Server = ServerRequest['server'];

/** The choices, in hours, for keeping a server awake. */
const KEEP_HOURS = [1, 4, 12];

const PHASES: Readonly<Record<string, string>> = {
  downloading: 'Downloading',
  installing: 'Installing',
  starting: 'The game is starting.',
  loading_mods: 'Mods are being loaded.',
  generating_world: 'The world is being prepared.',
  ready: 'Ready.',
};

interface Facts {
  /** Default for servers without an idle time of their own. */
  idleTimeoutMinutes: number;
  /** Whether any player may wake the server by joining. */
  playersWake: boolean;
  /** The rule that refuses a wake; undefined if none does or the server does not sleep. */
  obstacle: Obstacle | undefined;
  /** The last failure. */
  latest: Incident | undefined;
}

/** A server's activity, its next step, and the commands available now. */
export function whatNow(request: ServerRequest, machine: Machine, facts: Facts): Html {
  const { server } = request;
  const { idleTimeoutMinutes, playersWake, obstacle, latest } = facts;
  // A lost node takes precedence, because everything else waits for it.
  if (server.startErrorCode === 'node_lost') return startFailure(request, latest);
  if (server.startErrorCode === 'suspended' && isTagged(server.state, 'at-rest')) return startFailure(request, latest);
  switch (server.state) {
    case 'running':
      return running(request, machine, server.idleTimeoutMinutes || idleTimeoutMinutes);
    case 'starting':
      return html`${startup(server)}${wokenBy(request, machine)}${killForm(request)}`;
    case 'stopping':
      return html`<p>Saving the world and going to sleep.</p>
        ${killForm(request)}`;
    case 'start_failed':
      return startFailure(request, latest);
    case 'install_failed':
      return failure(request, latest, {
        code: server.installErrorCode,
        summary: server.installErrorSummary,
        suggestion: server.installErrorSuggestion,
        lines: server.installError,
      });
    case 'installing':
      return html`<p>Installing the software. You can start the server when it’s done.</p>`;
    default:
      return machine.job === null
        ? html`<p>
            Asleep. ${!request.isFree && 'No cost until someone joins.'}
            ${
              obstacle
                ? html`${obstacle.text}.`
                : playersWake
                  ? 'To wake it, join its address in Minecraft (Multiplayer → Direct Connection) or press Start.'
                  : 'To wake it, press Start. Its settings don’t let players wake it by joining.'
            }
          </p>`
        : html`<p>
            ${JOBS[machine.job.kind] ?? 'A file operation is running.'} You can start the server when it’s done.
          </p>`;
  }
}

function startFailure(request: ServerRequest, latest: Incident | undefined): Html {
  const { server } = request;
  const shown = failure(request, latest, {
    code: server.startErrorCode,
    summary: server.startErrorSummary,
    suggestion: server.startErrorSuggestion,
    lines: server.startError,
  });
  return html`${shown}${wayBack(request)}`;
}

const JOBS: Readonly<Record<string, string>> = {
  'backup.restore': 'Restoring a backup.',
  'world.reset': 'Resetting the world.',
  'world.delete': 'Deleting a world.',
};

/** The progress of a start. */
export function startup({ startupPhase, startupItem, startupPercent, startupEtaSeconds }: Server): Html {
  const known = (startupPhase === 'generating_world' || startupPhase === 'downloading') && startupPercent > 0;
  const phase = PHASES[startupPhase] ?? PHASES['starting'];
  const isLoading = startupItem !== '';
  return html`<p id="phase">
      ${isLoading ? `${phase} ${startupItem}${known ? ',' : '.'}` : phase}
      ${startupEtaSeconds > 0 && html`Usually it takes <strong>${startupEtaSeconds} s</strong> more.`}
      ${known && html`<strong>${startupPercent} %</strong>`}
    </p>
    <progress aria-labelledby="phase" max="100" ${known && html`value="${startupPercent}"`}></progress>`;
}

function running(request: ServerRequest, machine: Machine, idleMinutes: number): Html {
  const { role } = request;
  const kept = deadline(machine, 'keepAwake');
  const reasons = machine.keptAwakeBy.map(reasonText);
  return html`${wokenBy(request, machine)}
    <p>
      ${
        reasons.length > 0 &&
        html`Awake because: ${reasons.map((reason, index) => html`${index > 0 && ', '}${reason}`)}.`
      }
      ${kept === undefined && restText(machine, idleMinutes)}
    </p>
    ${
      isAtLeast(role, 'member') &&
      html`<div class="actions small">
        <span>Keep awake for</span>
        ${KEEP_HOURS.map((hours) =>
          buttonForm(request, 'keep-awake', html`<span class="unseen">Keep awake for </span>${hours} h`, {
            fields: { minutes: String(hours * 60) },
          }),
        )}
        ${kept && buttonForm(request, 'keep-awake', 'Cancel keep-awake', { fields: { minutes: '0' } })}
      </div>`
    }
    ${killForm(request)}`;
}

function deadline({ deadlines }: Machine, wanted: string): string | undefined {
  return deadlines.find(({ name }) => name === wanted)?.at ?? undefined;
}

function reasonText({ reason, until, players }: Machine['keptAwakeBy'][number]): Html {
  if (reason === 'players') return html`${countText(players, 'player', 'players')}`;
  if (reason === 'neverSleeps') return html`never sleeps`;
  if (reason === 'keepAwake') return html`kept awake until ${timeTag(until ?? 0)}`;
  return until === null ? html`awake hours` : html`hours until ${timeTag(until)}`;
}

/** Returns when the server will sleep; with players online, the rule. */
function restText(machine: Machine, idleMinutes: number): Html | undefined {
  const isEndless = machine.keptAwakeBy.some(({ reason, until }) => reason === 'awakeHours' && until === null);
  if (idleMinutes < 0 || isEndless) return undefined;
  const [idle, falseWake] = [deadline(machine, 'idle'), deadline(machine, 'falseWake')];
  if (idle !== undefined) return html`Sleeps at ${timeTag(idle)} unless someone joins.`;
  if (falseWake !== undefined)
    return html`The player who woke it has not joined. It sleeps at ${timeTag(falseWake)} unless someone joins.`;
  return html`Sleeps ${countText(idleMinutes, 'minute', 'minutes')} after the last player has left.`;
}

function wokenBy(request: ServerRequest, { transitions }: Machine): Html | undefined {
  const woken = transitions.find(({ from, to }) => to === 'starting' && from !== 'starting');
  if (!woken?.at) return undefined;
  return html`<p>
    Woken ${sinceTime(Date.parse(woken.at), request.now)} ago${wokenWords(woken.cause, request.principal)}.
  </p>`;
}

/** The form that kills the game. It asks for confirmation, because unsaved changes are lost. */
function killForm(request: ServerRequest): Html | undefined {
  if (!isAtLeast(request.role, 'member')) return undefined;
  return confirmed(
    'The game ends immediately. Unsaved changes are lost. Stop saves first.',
    'Kill…',
    'this server',
    buttonForm(request, 'kill', 'Yes, kill without saving', { variant: 'danger' }),
  );
}

interface Failed {
  code: string;
  summary: string;
  suggestion: string;
  lines: string;
}

/** Shows a failure with its remedy and log lines. The button for a new start is in the page's head. */
function failure(request: ServerRequest, latest: Incident | undefined, failed: Failed): Html {
  const { code, summary, suggestion, lines } = failed;
  const remedy = remedyLink(request, remedyOf(code, latest), 'button second');
  return html`<div class="note bad">
      <p>${summaryText(summary || 'It failed')}</p>
      ${suggestion !== '' && html`<p>${suggestion}</p>`}
    </div>
    ${remedy && html`<p class="remedy">${remedy}</p>`}
    ${lines !== '' && lines !== summary && html`<pre class="lines" tabindex="0" aria-label="Log lines">${lines}</pre>`}`;
}
