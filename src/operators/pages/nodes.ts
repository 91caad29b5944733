import type { ReplyOf } from '../../http/operation.ts';
import { confirmed, hidden } from '../../web/form.ts';
import { type Html, html } from '../../web/html.ts';
import type { Page } from '../../web/page-request.ts';
import { type Filling, filling, fillingOf, lineField } from '../../web/panel/fields.ts';
import { panelForm } from '../../web/panel/form.ts';
import type { Outcome, Panel, PanelRequest } from '../../web/panel/panel.ts';
import { fact } from '../../web/panel/parts.ts';
import { timeTag } from '../../web/panel/time.ts';
import { ramText } from '../../web/panel/words.ts';
import type { Form } from '../../web/serve.ts';
import { mountOperatorPage, operatorPage, reasonField } from './frame.ts';
import { DrainNode, FenceNode, ListNodes, ResumeNode, SetNodeRegion } from '../nodes-api.ts';

type Node = ReplyOf<typeof ListNodes>['nodes'][number];

const PATH = '/operator/nodes';

/** The machines that servers run on: free capacity, drains, and nodes that are off. */
export function mountNodes(panel: Panel): void {
  const act =
    (operation: typeof DrainNode, done: string) =>
    async ({ call }: PanelRequest, form: Form): Promise<Outcome> => {
      await call(operation, {}, fieldsOf(form));
      return done;
    };
  mountOperatorPage(panel, {
    path: PATH,
    show: nodesPage,
    forms: {
      drain: act(DrainNode, 'drained'),
      resume: act(ResumeNode, 'resumed'),
      fence: act(FenceNode, 'fenced'),
      async region({ call }, form) {
        await call(SetNodeRegion, {}, { ...fieldsOf(form), region: form.get('region') ?? '' });
        return 'moved';
      },
    },
    done: {
      drained: 'Node drained. It starts no more servers.',
      resumed: 'Node resumed.',
      fenced: 'Node marked as off. Its games start on other nodes.',
      moved: 'Region saved.',
    },
  });
}

function fieldsOf(form: Form): { node: string; reason: string } {
  return { node: form.get('node') ?? '', reason: form.get('reason') ?? '' };
}

async function nodesPage(request: PanelRequest): Promise<Page> {
  const { nodes } = await request.call(ListNodes, {});
  return operatorPage('Nodes', PATH, html`${nodes.map((node) => nodeCard(request, node))}`);
}

function nodeCard(request: PanelRequest, node: Node): Html {
  return html`<section class="card">
    <div data-live="${`node-${keyOf(node)}`}">
      <h2>
        ${node.node} ${stateTag(node)}
        ${node.drained && node.state !== 'drained' && html`<span class="tag warn">drained</span>`}
      </h2>
      ${notes(node)} ${capacityFacts(node)}
    </div>
    ${node.lostSince !== null && fenceForm(request, node)} ${drainForm(request, node)}
    ${node.id !== '' && regionForm(request, node)}
  </section>`;
}

/** Returns the node's key in forms, because two nodes may have the same name. */
function keyOf({ id, node }: Node): string {
  return id || node;
}

/** Returns submitted values only for the node whose form was sent. */
function filled(request: PanelRequest, form: string, node: Node): Filling {
  return node.id === '' ? filling(request, form) : fillingOf(request, form, { node: node.id }, node.id);
}

function stateTag({ state, reachable }: Node): Html {
  const [tone, text] = STATES[state] ?? (reachable ? STATES['ready']! : STATES['down']!);
  return html`<span class="tag ${tone}">${text}</span>`;
}

const STATES: Readonly<Record<string, readonly [tone: string, text: string]>> = {
  ready: ['good', 'ready'],
  drained: ['warn', 'drained'],
  closed: ['warn', 'unavailable'],
  down: ['bad', 'not responding'],
  fenced: ['warn', 'marked as off'],
};

function notes(node: Node): Html {
  const { drained, drainReason, drainedAt, trouble, lostSince, fencedAt, capacity } = node;
  const games = capacity.activeServers;
  return html`${
    drained &&
    html`<p class="note warn">
      Starts are
      paused${drainedAt !== null && html` since ${timeTag(drainedAt)}`}${drainReason !== '' && html`: <bdi>${drainReason}</bdi>`}
    </p>`
  }
  ${trouble !== '' && html`<p class="note warn">${trouble}</p>`}
  ${
    lostSince !== null &&
    html`<p class="note bad">
      No response since ${timeTag(lostSince)}.
      ${games === 1 ? 'One of its games waits. It' : html`<strong>${games}</strong> of its games wait. They`} may still
      run there. Two games on one world would corrupt it. ${games === 1 ? 'It continues' : 'They continue'} when the
      node is back or marked as off.
    </p>`
  }
  ${fencedAt !== null && html`<p class="note warn">Marked as off since ${timeTag(fencedAt)}. Its games start on other nodes.</p>`}`;
}

function drainForm(request: PanelRequest, node: Node): Html {
  const name = node.drained ? 'resume' : 'drain';
  const hint = node.drained ? 'Recorded in the audit log.' : 'Shown to owners who start a server.';
  return html`<h3>${node.drained ? 'Resume' : 'Drain'}</h3>
    <p>
      ${
        node.drained
          ? 'New servers start here again.'
          : 'No server starts here, even after the service restarts. Running servers keep running until they stop.'
      }
    </p>
    ${panelForm(
      request,
      name,
      html`${hidden('node', keyOf(node))} ${reasonField(filled(request, name, node), hint)}
        <button class="${node.drained ? '' : 'danger'}" type="submit">
          ${node.drained ? 'Resume' : 'Drain'} ${node.node}
        </button>`,
    )}`;
}

function regionForm(request: PanelRequest, node: Node): Html {
  const fields = filled(request, 'region', node);
  return html`<h3>Region</h3>
    <p>Servers of this region start on this node. Running servers keep running until they stop.</p>
    ${panelForm(
      request,
      'region',
      html`${hidden('node', keyOf(node))}
        ${lineField(fields, {
          name: 'region',
          label: 'Region',
          value: node.region,
          hint: 'A code such as eu. Enter “none” to start no servers here.',
          maxlength: 32,
        })}
        ${reasonField(fields, 'Recorded in the audit log.')}
        <button type="submit">Set the region of ${node.node}</button>`,
    )}`;
}

/** Confirms that a node is off. A mistake can lead to two games on one world, so it asks again. */
function fenceForm(request: PanelRequest, node: Node): Html {
  return html`<h3>Is it off?</h3>
    ${confirmed(
      'Its games start on other nodes immediately. If one still runs there, its world is corrupted. Confirm only if the machine ' +
        'has no power or has been restarted since. A machine unplugged only from its network or disk keeps running.',
      'Mark as off…',
      node.node,
      panelForm(
        request,
        'fence',
        html`${hidden('node', keyOf(node))}
          ${reasonField(filled(request, 'fence', node), 'How you verified it. Recorded in the audit log.')}
          <button class="danger" type="submit">Mark ${node.node} as off</button>`,
      ),
      request.failed === 'fence' && request.sent?.get('node') === keyOf(node),
    )}`;
}

function capacityFacts({ region, address, ramTotalMb, capacity }: Node): Html {
  const { activeServers, coresUsable, coresUsed, ramUsableMb, ramUsedMb, diskFreeMb, diskTotalMb } = capacity;
  const share = (name: string, value: string, used: number, all: number) =>
    fact(
      name,
      html`${value}
      ${all > 0 && html`<progress aria-label="${name}" max="${all}" value="${Math.min(used, all)}"></progress>`}`,
    );
  return html`<dl class="facts">
    ${fact('Region', region)} ${address !== '' && fact('Address', address)}
    ${fact('Awake servers', String(activeServers))}
    ${share('RAM reserved', `${ramText(Number(ramUsedMb))} of ${ramText(Number(ramUsableMb))}`, Number(ramUsedMb), Number(ramUsableMb))}
    ${fact('RAM installed', ramText(Number(ramTotalMb)))}
    ${share('CPU cores assigned', `${rounded(coresUsed)}, of ${rounded(coresUsable)} that are shared`, coresUsed, coresUsable)}
    ${share(
      'Disk free',
      `${ramText(Number(diskFreeMb))} of ${ramText(Number(diskTotalMb))}`,
      Number(diskTotalMb) - Number(diskFreeMb),
      Number(diskTotalMb),
    )}
  </dl>`;
}

function rounded(count: number): string {
  return String(Number(count.toFixed(1)));
}
