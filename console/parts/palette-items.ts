/**
 * What the palette offers without asking: pages and actions, the nodes that are known, and what can be done on them.
 */
import type { NodeResource } from '../../actors/resources/node.ts';
import { isHelpOpen } from '../keys.ts';
import { NODE_VERBS, type Item, type NodeAction } from '../palette.ts';
import { addressOf, OWN_PAGES, placeOf } from '../routes.ts';
import { runAddress } from '../run/form.ts';
import type { Me } from '../session.ts';
import { TEXTS } from '../texts.ts';
import { PALETTE } from '../texts/palette.ts';
import { choose, THEMES } from '../theme.ts';
import { copied } from './elsewhere.tsx';
import { leave } from './leaving.ts';

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
    const more = [cluster, ...aliases.map((alias) => alias.name)].join(' · ');
    yield { kind: 'nodes', id: `node-${id}`, text: name, more, node: id, leads: { to: addressOf('node', { id }) } };
  }
}

/** What can be done on a node that was found. */
export function nodeActions({ node: id = '', text: name }: Item): readonly NodeAction[] {
  const leads = {
    run: runAddress({ place: 'nodes', nodes: id }),
    terminal: addressOf('terminal', { id }),
    // its page asks its agent as it opens
    diagnose: addressOf('node', { id }),
  };
  return NODE_VERBS.map((verb) => ({
    verb,
    item: { kind: 'on-node', id: `${verb}-${id}`, text: PALETTE.onNode[verb](name), leads: { to: leads[verb] } },
  }));
}
