/** What people call a node, and how they group it: aliases and labels, made and taken away, with a way back. */
import { useSignal } from '@preact/signals';
import type { NodeResource } from '../../../actors/resources/node.ts';
import { useCreate } from '../../parts/use-create.ts';
import type { Live } from '../../live.ts';
import { done } from '../../parts/acts.tsx';
import { confirmed } from '../../parts/confirm.tsx';
import { soon } from '../../parts/notice.tsx';
import { typedSoon } from '../../parts/typed-soon.ts';
import { addressOf } from '../../routes.ts';
import { NODE } from '../../texts/node.ts';
import { Section } from './section.tsx';

interface Props {
  readonly live: Live;
  readonly node: NodeResource;
}

/** Aliases. What is made or taken away is seen when the feed tells it; until it is done, it can be taken back. */
export function Aliases({ live, node }: Props) {
  const T = NODE.aliases;
  const create = useCreate(live.api.create_alias.mutate);
  const name = useSignal('');
  const make = (): void => {
    const wanted = name.value.trim();
    if (wanted === '') return;
    const act = (): Promise<unknown> => create({ node_id: node.id, name: wanted });
    typedSoon(name, T.making(wanted), () => done(act, T.made(wanted)));
  };
  const remove = async (alias: NodeResource['aliases'][number]): Promise<void> => {
    const isWanted = await confirmed({
      title: T.removeTitle(alias.name),
      text: T.removeText,
      items: [alias.vpn_hostname],
      action: NODE.remove,
      isDangerous: true,
    });
    if (!isWanted) return;
    const act = (): Promise<unknown> => live.api.delete_alias.mutate({ id: alias.id });
    soon(T.removing(alias.name), () => void done(act, T.removed(alias.name)).then(create.forget));
  };
  return (
    <Section
      id="aliases"
      title={T.title}
      beside={<a href={addressOf('aliases', { search: `?node_id__in=${encodeURIComponent(node.id)}` })}>{T.all}</a>}
    >
      {node.aliases.length === 0 && <p class="soft">{T.none}</p>}
      <ul class="tags">
        {node.aliases.map((alias) => (
          <li key={alias.id}>
            <bdi title={alias.vpn_hostname}>{alias.name}</bdi>
            <button type="button" aria-label={NODE.removeOf(alias.name)} onClick={() => void remove(alias)}>
              ×
            </button>
          </li>
        ))}
      </ul>
      <AddLine
        label={T.add}
        placeholder={T.placeholder}
        value={name.value}
        onInput={(text) => (name.value = text)}
        onSubmit={make}
      />
    </Section>
  );
}

/** Labels: `key=value`, or `key` alone. One that is set again gets its new value. */
export function Labels({ live, node }: Props) {
  const T = NODE.labels;
  const text = useSignal('');
  const set = (): void => {
    const wanted = text.value.trim();
    const [key = '', ...rest] = wanted.split('=');
    if (key === '') return;
    const act = (): Promise<unknown> =>
      live.api.set_node_labels.mutate({ id: node.id, labels: { [key]: rest.join('=') } });
    typedSoon(text, T.setting(wanted), () => done(act, T.set(key)));
  };
  const remove = (key: string): void => {
    const act = (): Promise<unknown> => live.api.remove_node_label.mutate({ id: node.id, key });
    soon(T.removing(key), () => void done(act, T.removed(key)));
  };
  const entries = Object.entries(node.labels);
  return (
    <Section id="labels" title={T.title}>
      {entries.length === 0 && <p class="soft">{T.none}</p>}
      <ul class="tags">
        {entries.map(([key, value]) => (
          <li key={key}>
            <bdi>{value === '' ? key : `${key}=${value}`}</bdi>
            <button type="button" aria-label={NODE.removeOf(key)} onClick={() => remove(key)}>
              ×
            </button>
          </li>
        ))}
      </ul>
      <AddLine
        label={T.add}
        placeholder={T.placeholder}
        value={text.value}
        onInput={(next) => (text.value = next)}
        onSubmit={set}
      />
    </Section>
  );
}

interface AddLineProps {
  readonly label: string;
  readonly placeholder: string;
  readonly value: string;
  readonly onInput: (text: string) => void;
  readonly onSubmit: () => void;
}

/** One field and its button. */
function AddLine({ label, placeholder, value, onInput, onSubmit }: AddLineProps) {
  return (
    <form
      class="add"
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      <input
        aria-label={label}
        placeholder={placeholder}
        value={value}
        autocomplete="off"
        spellcheck={false}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
      />
      <button type="submit">{label}</button>
    </form>
  );
}
