/** What the terminal of a node is for a terminal of one's own. */
import type { NodeResource } from '../../../actors/resources/node.ts';
import { Elsewhere } from '../../parts/elsewhere.tsx';
import { curlLine } from '../../shell-words.ts';
import { TERMINAL } from '../../texts/terminal.ts';
import { linesOf } from '../node/lines.ts';

/** `user`: the SSH username that is meant; null: the node has none. */
export function SameElsewhere({ node, user }: { readonly node: NodeResource; readonly user: string | null }) {
  const ssh = linesOf(node, location.origin, user).find(({ name }) => name === 'ssh');
  const run = { command_text: 'uptime', targeting: { type: 'nodes', node_ids: [node.id] } };
  return (
    <Elsewhere cli={ssh?.text ?? ''} curl={curlLine(location.origin, '/commands', { method: 'POST', body: run })}>
      <p class="soft">{TERMINAL.noRequest}</p>
    </Elsewhere>
  );
}
