/** What is done to a whole node: an update, a move, a recovery key, its end. */
import { useSignal } from '@preact/signals';
import type { NodeResource } from '../../../actors/resources/node.ts';
import { useCreate } from '../../parts/use-create.ts';
import type { Fleet } from '../../fleet/feed.ts';
import { typedNameOf } from '../../fleet/node-actions.ts';
import type { Live } from '../../live.ts';
import { done } from '../../parts/acts.tsx';
import { ClusterNames, useClusterNames } from '../../parts/cluster-names.tsx';
import { confirmed } from '../../parts/confirm.tsx';
import { CopyLine } from '../../parts/elsewhere.tsx';
import { soon } from '../../parts/notice.tsx';
import { typedSoon } from '../../parts/typed-soon.ts';
import { NODE } from '../../texts/node.ts';
import { edgeName } from './lines.ts';
import { pageLink } from './links.ts';
import { Section } from './section.tsx';

const T = NODE.actions;

interface Props {
  readonly live: Live;
  readonly node: NodeResource;
}

/** In order of what they cost. */
export function Actions({ live, fleet, node }: Props & { readonly fleet: Fleet }) {
  const createUpdate = useCreate(live.api.create_self_update_request.mutate);
  const terminal = pageLink('terminal', node.id);
  const update = async (): Promise<void> => {
    const isWanted = await confirmed({
      title: T.updateTitle(node.name),
      text: T.updateText,
      items: [`${edgeName(node)}, ${node.version}`],
      action: T.update,
    });
    const targeting = { type: 'nodes' as const, node_ids: [node.id] };
    if (!isWanted) return;
    soon(T.updating(node.name), () => void done(() => createUpdate({ targeting }, node.version), T.updated));
  };
  const remove = async (): Promise<void> => {
    const isWanted = await confirmed({
      title: T.deleteTitle(node.name),
      text: T.deleteText,
      items: [node.vpn_hostname],
      name: typedNameOf(node),
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
      <Move live={live} fleet={fleet} node={node} />
      <RecoveryKey live={live} node={node} />
    </Section>
  );
}

function Move({ live, fleet, node }: Props & { readonly fleet: Fleet }) {
  const to = useSignal('');
  const others = useClusterNames(fleet)?.filter((name) => name !== node.cluster_name) ?? null;
  const move = async (): Promise<void> => {
    const cluster = to.value.trim();
    if (cluster === '') return;
    const isWanted = await confirmed({
      title: T.moveTitle(node.name),
      text: T.moveText(node.cluster_name, cluster),
      items: [node.vpn_hostname],
      action: T.move,
      isDangerous: true,
    });
    if (!isWanted) return;
    const act = (): Promise<unknown> => live.api.change_node_cluster.mutate({ id: node.id, cluster_name: cluster });
    typedSoon(to, T.moving(node.name, cluster), () => done(act, T.moved(cluster)));
  };
  if (others?.length === 0) return null;
  return (
    <form
      class="add"
      onSubmit={(event) => {
        event.preventDefault();
        void move();
      }}
    >
      <input
        aria-label={T.moveTo}
        placeholder={T.moveTo}
        list="node-clusters"
        value={to.value}
        autocomplete="off"
        spellcheck={false}
        onInput={({ currentTarget }) => (to.value = currentTarget.value)}
      />
      <ClusterNames id="node-clusters" names={others} />
      <button type="submit" disabled={to.value.trim() === ''}>
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
      name: typedNameOf(node),
      action: T.removeKey,
      isDangerous: true,
    });
    if (!isWanted) return;
    if (await done(() => live.api.delete_node_recovery_key.mutate({ id: node.id }), T.keyRemoved)) shown.value = null;
    create.forget();
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
