/** A list as a terminal asks for it: by `edge`, and by `curl`. Pure. */
import { commandLine, curlLine } from '../shell-words.ts';
import { KEY_STATES, LIST_PARAMETERS, type FilterOf, type ListPage, type StateOf } from './parameters.ts';
import { anywhere } from './query.ts';
import { troubleFilters } from './webhook-trouble.ts';

/** How `edge` says one filter. */
type Words = (value: string) => readonly string[];

/** A list in a terminal. */
interface TerminalList<Page extends ListPage> {
  readonly command: string;
  /** Below /api/v1. */
  readonly path: string;
  /** The parameter that says what the rows are of; for `edge` that stands behind the command. */
  readonly of?: string;
  /** None is left out: a list of `edge` that shows more than the page is another one. */
  readonly flags: { readonly [Filter in FilterOf<Page>]: Words };
  /** What `edge` sorts by where nothing is said; left out: the newest first, as the page. */
  readonly sortedBy?: string;
  /** Fields by which the page sorts, and `edge` cannot. */
  readonly notSortedBy?: readonly string[];
}

const TERMINAL_LISTS: { readonly [Page in ListPage]: TerminalList<Page> } = {
  clusters: { command: 'edge cluster ls', path: '/clusters', flags: { name: typed('--name') }, sortedBy: 'name' },
  groups: { command: 'edge group ls', path: '/groups', flags: { name: typed('--name') }, sortedBy: 'name' },
  aliases: {
    command: 'edge alias ls',
    path: '/aliases',
    flags: { name: typed('--name'), cluster_name: flag('-c'), node_id__in: flag('-n') },
    sortedBy: 'name',
  },
  'enrollment-keys': {
    command: 'edge key ls',
    path: '/enrollment_keys',
    flags: { cluster_name: flag('-c'), name: typed('--name'), state: keyState },
  },
  ssh: {
    command: 'edge sshuser ls',
    path: '/ssh_usernames',
    flags: {
      username: typed('-u'),
      cluster_name: flag('-c'),
      key_name: typed('--key-name'),
      has_password: either('password'),
      node_id__in: flag('-n'),
    },
    sortedBy: 'username',
    notSortedBy: ['cluster_name'],
  },
  'ssh-username': {
    command: 'edge sshkey ls',
    path: '/ssh_public_keys',
    of: 'ssh_username_id__in',
    flags: {},
    sortedBy: 'name',
  },
  webhooks: {
    command: 'edge webhook ls',
    path: '/webhooks',
    flags: { url: typed('--to'), event_type: flag('--on'), trouble: inTrouble },
  },
  webhook: {
    command: 'edge webhook deliveries',
    path: '/webhook_deliveries',
    of: 'webhook_id__in',
    flags: { status__in: flag('-s'), event_type: flag('-t') },
  },
  deliveries: {
    command: 'edge webhook deliveries',
    path: '/webhook_deliveries',
    flags: { status__in: flag('-s'), event_type: flag('-t') },
  },
  recordings: {
    command: 'edge recording ls',
    path: '/ssh_recordings',
    flags: { username: flag('-u'), node_id__in: flag('-n') },
  },
  updates: { command: 'edge update ls', path: '/self_update_requests', flags: { status__in: flag('-s') } },
  commands: {
    command: 'edge command ls',
    path: '/commands',
    flags: { command_text: typed('--text'), has_failed: either('failed'), has_open: either('open') },
  },
  executions: {
    command: 'edge execution ls',
    path: '/command_executions',
    flags: {
      output: typed('--said'),
      status__in: flag('-s'),
      exit_code__gte: flag('--exit-code-min'),
      exit_code: flag('--exit-code'),
      completed_at__gte: flag('--completed-since'),
      completed_at__lte: flag('--completed-until'),
      cluster_name: flag('-c'),
      node_id__in: flag('-n'),
      command_id__in: flag('--command'),
    },
  },
};

/** Both lines of a list. */
export interface ListLines {
  readonly cli: string;
  readonly curl: string;
  /** Whether `edge` shows the same rows in another order. */
  readonly isInOtherOrder: boolean;
}

/**
 * The lines that show what a page shows: `edge` all of it, `curl` the same page. `origin`: of this admin; `id`: what
 * the rows are of, where the list is that of one thing.
 */
export function listLinesOf<Page extends ListPage>(
  page: Page,
  state: StateOf<Page>,
  origin: string,
  id = '',
): ListLines {
  const { command, path, of, flags, sortedBy, notSortedBy = [] }: TerminalList<Page> = TERMINAL_LISTS[page];
  const parametersOf = LIST_PARAMETERS[page] as (given: StateOf<Page>) => Parameters;
  const words = Object.entries<string | undefined>(state.filters).flatMap(([name, value]) =>
    value === undefined ? [] : flags[name as FilterOf<Page>](value),
  );
  const sort = state.sort === '' && sortedBy !== undefined ? NEWEST_FIRST : state.sort;
  const isInOtherOrder = notSortedBy.includes(sort.replace(/^-/u, ''));
  return {
    cli: commandLine(
      command,
      ...(of === undefined ? [] : [id]),
      ...words,
      ...(sort === '' || isInOtherOrder ? [] : ['--sort', sort]),
    ),
    curl: curlOfList(origin, path, { ...parametersOf(state), ...(of !== undefined && { [of]: id }) }),
    isInOtherOrder,
  };
}

const NEWEST_FIRST = '-inserted_at';

type Parameters = Readonly<Record<string, string | number | boolean | undefined>>;

/** A list as `curl` asks for it. `path`: below /api/v1. Parameters that are undefined are left out. */
export function curlOfList(origin: string, path: string, parameters: Parameters): string {
  const pairs = Object.entries(parameters).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, String(value)]],
  );
  return curlLine(origin, `${path}?${new URLSearchParams(pairs).toString()}`);
}

function flag(name: string): Words {
  return (value) => [name, value];
}

/** Of a field into which words are typed, which are found anywhere. */
function typed(name: string): Words {
  return (value) => [name, anywhere(value)];
}

function inTrouble(value: string): readonly string[] {
  const { waiting_since__lte: waiting, dropped_at__gte: dropped } = troubleFilters(value, Date.now());
  return [
    ...(waiting === undefined ? [] : ['--waiting-since', waiting]),
    ...(dropped === undefined ? [] : ['--dropped-since', dropped]),
  ];
}

/** `--failed`, `--no-failed`. */
function either(name: string): Words {
  return (value) => [value === 'true' ? `--${name}` : `--no-${name}`];
}

/** `is_never_used` is `--state never-used`; what is no state narrows nothing. */
function keyState(value: string): readonly string[] {
  const state = KEY_STATES.find((one) => one === value);
  return state === undefined ? [] : ['--state', state.replace(/^is_/u, '').replaceAll('_', '-')];
}
