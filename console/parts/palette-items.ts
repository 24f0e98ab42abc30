/** What the palette offers: pages and actions, and what the admin was asked for when it was opened. */
import type { CommandResource } from '../../actors/resources/command.ts';
import type { GroupResource } from '../../actors/resources/group.ts';
import type { NodeResource } from '../../actors/resources/node.ts';
import { isHelpOpen } from '../keys.ts';
import { targetingText } from '../lists/targeting.ts';
import type { Live } from '../live.ts';
import type { Item } from '../palette.ts';
import { addressIfThere, addressOf, OWN_PAGES, placeOf } from '../routes.ts';
import type { Me } from '../session.ts';
import { TEXTS } from '../texts.ts';
import { PALETTE } from '../texts/palette.ts';
import { choose, THEMES } from '../theme.ts';
import { copied } from './elsewhere.tsx';
import { leave } from './leaving.ts';

/** Clusters, groups and recent commands that are asked for: one page of a list each. */
const CLUSTERS_MAX = 100;
const GROUPS_MAX = 100;
const COMMANDS_MAX = 20;

/** First characters of a script that stand for it. */
const SCRIPT_CHARACTERS_MAX = 80;

/** Pages and actions: there at once. */
export function ownItems(me: Me): readonly Item[] {
  return [...OWN_PAGES.map(pageItem), ...actions(me)];
}

function pageItem(page: (typeof OWN_PAGES)[number]): Item {
  const { jump } = placeOf(page);
  const more = jump === undefined ? {} : { more: `g ${jump}` };
  return { kind: 'pages', id: `page-${page}`, text: TEXTS.pages[page], ...more, leads: { to: addressOf(page) } };
}

function actions({ principal }: Me): readonly Item[] {
  const { actions: texts, theme } = PALETTE;
  const leading = (
    [
      ['run', addressOf('run')],
      ['createKey', addressOf('enrollment-keys')],
      ['createGroup', addressOf('groups')],
      ['createAlias', addressOf('aliases')],
    ] as const
  ).map(([name, to]) => ({ id: name, text: texts[name], leads: { to } }));
  const doing = [
    ...THEMES.map((one) => ({ id: `theme-${one}`, text: theme(TEXTS.shell.themes[one]), does: () => choose(one) })),
    { id: 'copy', text: texts.copy, does: () => void copied(location.href) },
    { id: 'keyboard', text: texts.keyboard, does: () => (isHelpOpen.value = true) },
    ...(principal === 'anonymous' ? [] : [{ id: 'sign-out', text: TEXTS.shell.signOut, does: () => void leave() }]),
  ].map(({ does, ...item }) => ({ ...item, leads: { does } }));
  return [...leading, ...doing].map(({ id, text, leads }) => ({ kind: 'actions', id: `do-${id}`, text, leads }));
}

/** The nodes that the page knows, each made when it is come to. */
export function* nodeItems(nodes: Iterable<NodeResource>): Generator<Item> {
  for (const { id, name, cluster_name: cluster, aliases } of nodes) {
    const to = addressIfThere('node', { id }) ?? addressOf('nodes', { search: `?q=${encodeURIComponent(id)}` });
    const more = [cluster, ...aliases.map((alias) => alias.name)].join(' · ');
    yield { kind: 'nodes', id: `node-${id}`, text: name, more, leads: { to } };
  }
}

/** Clusters, groups and recent commands, as the admin has them now. What cannot be had is left out. */
export async function askedItems(api: Live['api']): Promise<readonly Item[]> {
  const [clusters, groups, commands] = await Promise.allSettled([
    api.list_clusters.query({ page_size: CLUSTERS_MAX, sort: 'name' }),
    api.list_groups.query({ page_size: GROUPS_MAX, sort: 'name' }),
    api.list_commands.query({ page_size: COMMANDS_MAX, sort: '-inserted_at' }),
  ]);
  return [
    ...(clusters.status === 'fulfilled' ? clusters.value.data.map(({ name }) => clusterItem(name)) : []),
    ...(groups.status === 'fulfilled' ? groups.value.data.map(groupItem) : []),
    ...(commands.status === 'fulfilled' ? commands.value.data.flatMap(commandItem) : []),
  ];
}

function clusterItem(name: string): Item {
  const to =
    addressIfThere('cluster', { id: name }) ?? addressOf('nodes', { search: `?cluster=${encodeURIComponent(name)}` });
  return { kind: 'clusters', id: `cluster-${name}`, text: name, leads: { to } };
}

function groupItem({ name, targeting }: GroupResource): Item {
  const to = addressOf('group', { id: name });
  return { kind: 'groups', id: `group-${name}`, text: name, more: targetingText(targeting), leads: { to } };
}

function commandItem({ id, command_text: script, summary }: CommandResource): readonly Item[] {
  const to = addressIfThere('command', { id });
  if (to === null) return [];
  const text = script.trim().split('\n', 1)[0]?.slice(0, SCRIPT_CHARACTERS_MAX) ?? '';
  return [{ kind: 'commands', id: `command-${id}`, text, more: PALETTE.nodes(summary.total), leads: { to } }];
}
