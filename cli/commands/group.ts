/** `edge group`. */
import type { Command as Program } from 'commander';
import type { Inputs, Outputs } from '../service/client.ts';
import { addListCommand, type ListFlags } from '../lists.ts';
import { countOfNodes } from '../names/node-names.ts';
import { tell, write } from '../output/output.ts';
import { EXIT, isNotFound, Problem } from '../problem.ts';
import { sessionOf } from '../service/session.ts';
import type { Table } from '../table/columns.ts';
import { isForPeople } from '../table/format.ts';
import { recordText, rowsText } from '../table/text.ts';
import { addPlaceOptions, targetingOf, type Places } from '../names/targeting.ts';
import { STATUS_TONES } from '../output/node-table.ts';

type Group = Outputs['get_group'];
type Reached = Outputs['preview_targeting']['nodes'][number];
type GroupTargeting = Inputs['create_group']['targeting'];

const TABLE: Table<Group> = {
  id: ({ name }) => name,
  sortedBy: 'name',
  columns: [
    ['NAME', 'name', { cut: 12, sorts: 'name' }],
    ['NODES', ({ targeting }) => (targeting.withheld ? 'see edge group get' : targetingText(targeting)), { cut: 20 }],
    ['CREATED', 'inserted_at', { age: true, drop: 1, sorts: 'inserted_at' }],
    ['DESCRIPTION', 'description', { cut: 12, drop: 2 }],
  ],
};

const REACHED: Table<Reached> = {
  id: ({ id }) => id,
  columns: [
    ['NAME', 'name', { cut: 12 }],
    ['CLUSTER', 'cluster_name', { cut: 8 }],
    ['STATUS', 'status', { tone: ({ status }) => STATUS_TONES[status] }],
    ['ID', 'id', { id: true }],
  ],
};

interface SaveFlags extends Places {
  readonly description?: string;
}

const HELP = `
Examples:
  edge group create canaries -l 'env=prod,canary' --description 'first to get what is new'
  edge group get canaries                         who is in it now
  edge run --in canaries -- systemctl restart app`;

/** Saved groups: list, look at, save, remove. */
export function addGroupCommands(program: Program): void {
  const group = program
    .command('group')
    .description('saved groups: which nodes are meant, under a name')
    .addHelpText('after', HELP);

  addListCommand<Group, { readonly name?: string } & ListFlags>(group, {
    description: 'list saved groups',
    table: TABLE,
    read:
      async ({ api }, { name }) =>
      (page) =>
        api.list_groups.query({ ...page, ...(name !== undefined && { name }) }),
  }).option('--name <pattern>', 'only those that are called so (with * as wildcard)');

  group
    .command('get <name>')
    .alias('show')
    .description('show a saved group, and the nodes that are in it now')
    .action(async (name: string, _flags: object, command: Program) => {
      const { api, record, format, view } = sessionOf(command);
      const found = await ofGroup(name, () => api.get_group.query({ name }));
      if (!isForPeople(format)) return record(found);
      const reached = await api.preview_targeting.query({ targeting: { type: 'group', group: name } });
      await write(recordText({ ...groupFields(found), node_count: reached.node_count }, format));
      if (reached.nodes.length > 0) await write(`\n${rowsText(reached.nodes, REACHED, view())}`);
      if (reached.node_count > reached.nodes.length) tell(`${reached.nodes.length} of ${reached.node_count} shown`);
      return undefined;
    });

  addPlaceOptions(
    group
      .command('create <name>')
      .description(
        'save which nodes are meant; labels, clusters and statuses are looked at anew whenever it is used, names with * now',
      ),
  )
    .option('--description <text>', 'what it is for')
    .action(async (name: string, flags: SaveFlags, command: Program) => {
      const { api, record, format } = sessionOf(command);
      const targeting = plain(await targetingOf(api, flags));
      const created = await api.create_group.mutate({
        name,
        targeting,
        ...(flags.description !== undefined && { description: flags.description }),
      });
      await record(isForPeople(format) ? groupFields(created) : created);
      const { node_count: count } = await api.preview_targeting.query({ targeting: { type: 'group', group: name } });
      tell(`${countOfNodes(count)} ${count === 1 ? 'is' : 'are'} in it now`);
    });

  group
    .command('rm <names...>')
    .description('remove saved groups; their nodes stay')
    .action(async (names: readonly string[], _flags: object, command: Program) => {
      const { api } = sessionOf(command);
      for (const name of names) await ofGroup(name, () => api.delete_group.mutate({ name }));
    });
}

/** A group as people see it: which nodes are meant stands last, before what comes of it. */
function groupFields({ targeting, ...rest }: Group): object {
  return { ...rest, targeting: targetingText(targeting) };
}

async function ofGroup<T>(name: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    throw isNotFound(error)
      ? new Problem(`there is no group "${name}": edge group ls shows all`, EXIT.notFound)
      : error;
  }
}

/** A group holds no other one. */
function plain(targeting: Inputs['create_command']['targeting']): GroupTargeting {
  const { type, ...rest } = targeting;
  if (type === 'group') throw new Problem('a group is made of nodes, not of another group: leave --in out', EXIT.usage);
  return { ...rest, type };
}

/** As the options of `edge run` would say it. */
function targetingText({
  type,
  node_ids: ids = [],
  cluster_names: clusters = [],
  labels,
  ...rest
}: Group['targeting']): string {
  const filters = Object.entries({ ...rest.node_filters, ...rest.cluster_filters }).map(
    ([name, value]) => `${name}=${String(value)}`,
  );
  return [
    type === 'all' && labels === undefined && '--all',
    type === 'nodes' && countOfNodes(ids.length),
    type === 'clusters' && `-c ${clusters.join(',')}`,
    labels !== undefined && `-l ${labels}`,
    ...filters,
  ]
    .filter(Boolean)
    .join(' ');
}
