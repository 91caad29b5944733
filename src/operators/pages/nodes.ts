import type { ReplyOf } from '../../http/calls.ts';
import { hidden } from '../../web/form.ts';
import { type Html, html } from '../../web/html.ts';
import type { Page } from '../../web/page-request.ts';
import { filling } from '../../web/panel/fields.ts';
import { panelForm } from '../../web/panel/form.ts';
import type { Panel, PanelRequest } from '../../web/panel/panel.ts';
import { fact } from '../../web/panel/parts.ts';
import { timeTag } from '../../web/panel/time.ts';
import { ramText } from '../../web/panel/words.ts';
import { mountOperatorPage, operatorPage, reasonField } from './frame.ts';

type Node = ReplyOf<'ListNodes'>['nodes'][number];

const PATH = '/operator/nodes';

/** The machines that servers run on: what they have left, and whether they take new starts. */
export function mountNodes(panel: Panel): void {
  mountOperatorPage(panel, {
    path: PATH,
    show: nodesPage,
    forms: {
      async drain({ call }, form) {
        await call('DrainNode', {}, { node: form.get('node') ?? '', reason: form.get('reason') ?? '' });
        return 'drained';
      },
      async resume({ call }, form) {
        await call('ResumeNode', {}, { node: form.get('node') ?? '', reason: form.get('reason') ?? '' });
        return 'resumed';
      },
    },
    done: { drained: 'It starts no servers from now on.', resumed: 'It takes starts again.' },
  });
}

async function nodesPage(request: PanelRequest): Promise<Page> {
  const { nodes } = await request.call('ListNodes', {});
  return operatorPage('Nodes', PATH, { main: html`${nodes.map((node) => nodeCard(request, node))}` });
}

function nodeCard(request: PanelRequest, node: Node): Html {
  const name = node.drained ? 'resume' : 'drain';
  const hint = node.drained ? 'Goes into the audit log.' : 'Owners who start a server read it.';
  return html`<section class="card">
    <div data-live="${`node-${node.node}`}">
      <h2>
        ${node.node}
        ${node.reachable ? html`<span class="tag good">reachable</span>` : html`<span class="tag bad">its engine does not answer</span>`}
        ${node.drained && html`<span class="tag warn">drained</span>`}
      </h2>
      ${
        node.drained &&
        html`<p class="note warn">
          It starts no servers${node.drainedAt !== null && html` since ${timeTag(node.drainedAt)}`}:
          <bdi>${node.drainReason}</bdi>
        </p>`
      }
      ${capacityFacts(node)}
    </div>
    <h3>${node.drained ? 'Resume' : 'Drain'}</h3>
    <p>
      ${
        node.drained
          ? 'It takes new starts again.'
          : 'It starts no servers and takes no new ones, also after a restart of the service. Those that are awake stay until they stop.'
      }
    </p>
    ${panelForm(
      request,
      name,
      html`${hidden('node', node.node)} ${reasonField(filling(request, name), hint)}
        <button class="${node.drained ? '' : 'danger'}" type="submit">
          ${node.drained ? 'Resume' : 'Drain'} ${node.node}
        </button>`,
    )}
  </section>`;
}

function capacityFacts({ region, capacity }: Node): Html {
  const { activeServers, coresUsable, coresUsed, ramUsableMb, ramUsedMb, diskFreeMb, diskTotalMb } = capacity;
  const share = (name: string, value: string, used: number, all: number) =>
    fact(
      name,
      html`${value}
      ${all > 0 && html`<progress aria-label="${name}" max="${all}" value="${Math.min(used, all)}"></progress>`}`,
    );
  return html`<dl class="facts">
    ${fact('Region', region)} ${fact('Awake servers', String(activeServers))}
    ${share('RAM reserved', `${ramText(Number(ramUsedMb))} of ${ramText(Number(ramUsableMb))}`, Number(ramUsedMb), Number(ramUsableMb))}
    ${share('Cores promised', `${rounded(coresUsed)}, of ${rounded(coresUsable)} that are shared`, coresUsed, coresUsable)}
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
