/** What is done to a whole node: an update, a move, a recovery key, its end. */
import { useSignal } from '@preact/signals';
import type { NodeResource } from '../../../actors/resources/node.ts';
import { useCreate } from '../../creates.ts';
import type { Live } from '../../live.ts';
import { done } from '../../parts/acts.tsx';
import { confirmed } from '../../parts/confirm.tsx';
import { CopyLine } from '../../parts/elsewhere.tsx';
import { NODE } from '../../texts/node.ts';
import { edgeName } from './lines.ts';
import { pageLink } from './links.ts';
import { useOnce } from './once.ts';
import { Section } from './section.tsx';

/** Clusters that are offered to move to: one page of a list. */
const CLUSTERS_MAX = 100;

const T = NODE.actions;

interface Props {
  readonly live: Live;
  readonly node: NodeResource;
}

/** In order of what they cost. */
export function Actions({ live, node }: Props) {
  const createUpdate = useCreate(live.api.create_self_update_request.mutate);
  const terminal = pageLink('terminal', node.id);
  const update = async (): Promise<void> => {
    const isWanted = await confirmed({
      title: T.updateTitle(node.name),
      text: T.updateText,
      items: [`${edgeName(node)}, ${node.version}`],
      action: T.update,
    });
    if (isWanted) await done(() => createUpdate({ targeting: { type: 'nodes', node_ids: [node.id] } }), T.updated);
  };
  const remove = async (): Promise<void> => {
    const isWanted = await confirmed({
      title: T.deleteTitle(node.name),
      text: T.deleteText,
      items: [node.vpn_hostname],
      name: node.name,
      action: T.delete,
      isDangerous: true,
    });
    if (isWanted) await done(() => live.api.delete_node.mutate({ id: node.id }), T.deleted(node.name));
  };
  return (
    <Section id="actions" title={T.title}>
      <div class="actions">
        {terminal !== null && (
          <a class="button" href={terminal}>
            {T.terminal}
          </a>
        )}
        <button
          type="button"
          disabled={!node.self_update_enabled || node.status !== 'healthy'}
          title={node.self_update_enabled ? undefined : T.noUpdate}
          onClick={() => void update()}
        >
          {T.update}
        </button>
        <button type="button" class="danger" onClick={() => void remove()}>
          {T.delete}
        </button>
      </div>
      <Move live={live} node={node} />
      <RecoveryKey live={live} node={node} />
    </Section>
  );
}

function Move({ live, node }: Props) {
  const to = useSignal('');
  const clusters = useOnce(() => live.api.list_clusters.query({ page_size: CLUSTERS_MAX, sort: 'name' })).value;
  const others = clusters.data?.data.filter(({ name }) => name !== node.cluster_name) ?? [];
  const move = async (): Promise<void> => {
    if (to.value === '') return;
    const isWanted = await confirmed({
      title: T.moveTitle(node.name),
      text: T.moveText(node.cluster_name, to.value),
      items: [node.vpn_hostname],
      action: T.move,
      isDangerous: true,
    });
    if (!isWanted) return;
    const cluster = to.value;
    await done(() => live.api.change_node_cluster.mutate({ id: node.id, cluster_name: cluster }), T.moved(cluster));
    to.value = '';
  };
  if (others.length === 0) return null;
  return (
    <form
      class="add"
      onSubmit={(event) => {
        event.preventDefault();
        void move();
      }}
    >
      <select aria-label={T.moveTo} value={to.value} onChange={({ currentTarget }) => (to.value = currentTarget.value)}>
        <option value="">{T.moveTo}</option>
        {others.map(({ name }) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
      <button type="submit" disabled={to.value === ''}>
        {T.move}
      </button>
    </form>
  );
}

/** Shown once, until the page is left. */
function RecoveryKey({ live, node }: Props) {
  const shown = useSignal<string | null>(null);
  const create = useCreate(live.api.create_node_recovery_key.mutate);
  const make = async (): Promise<void> => {
    const isWanted = await confirmed({
      title: T.keyTitle(node.name),
      text: T.keyText,
      items: [node.vpn_hostname],
      action: T.makeKey,
    });
    if (isWanted)
      await done(async () => {
        const made = await create({ id: node.id });
        shown.value = made.recovery_key;
      }, T.keyMade);
  };
  const remove = async (): Promise<void> => {
    const isWanted = await confirmed({
      title: T.noKeyTitle(node.name),
      text: T.noKeyText,
      action: T.removeKey,
      isDangerous: true,
    });
    if (!isWanted) return;
    if (await done(() => live.api.delete_node_recovery_key.mutate({ id: node.id }), T.keyRemoved)) shown.value = null;
  };
  return (
    <>
      <div class="actions">
        <button type="button" onClick={() => void make()}>
          {T.makeKey}
        </button>
        <button type="button" onClick={() => void remove()}>
          {T.removeKey}
        </button>
      </div>
      {shown.value !== null && (
        <div class="once">
          <p>{T.keyOnce}</p>
          <CopyLine label={T.keyLabel} text={shown.value} />
        </div>
      )}
    </>
  );
}
