/** Filters of nodes that are more than a comparison with a column: labels, facts, and versions in their order. */
import { parseSelector, type Requirement, type Selector } from '../../actors/label-selector.ts';
import { versionOrder } from '../../actors/version-order.ts';
import type { Filter } from '../../actors/filters.ts';
import { all, anyOf, condition, type Filterable } from './conditions.ts';
import { sql, type Sql } from './sql.ts';

/** Values of one key up to which each is looked for in the index by itself. */
const INDEXED_VALUES_MAX = 4;

/** Labels, beside the nodes `n`. Every node has a row there. */
export const LABELS_FIELD: Filterable = {
  matches: (filter) => sql`n.id in (select l.node_id from node_labels l where ${labelsMatch(filter)})`,
  beside: { table: sql`node_labels l`, matches: labelsCounted, leavesOut: labelsLeaveOut },
};

/** A fact of the nodes `n` as a text. */
export function factField(fact: 'hostname' | 'os' | 'arch'): Filterable {
  const column = {
    hostname: sql`(f.facts ->> 'hostname')`,
    os: sql`(f.facts ->> 'os')`,
    arch: sql`(f.facts ->> 'arch')`,
  };
  return {
    matches: (filter) =>
      sql`n.id in (select f.node_id from node_facts f where ${condition('text', { column: column[fact] }, filter)})`,
  };
}

/** The version of the nodes `n`. Each of the few versions that there are is compared once. */
export const VERSION_FIELD: Filterable = {
  matches: (filter) => {
    if (filter.op !== 'gte' && filter.op !== 'lte') return condition('text', { column: sql`n.version` }, filter);
    const comparison = filter.op === 'gte' ? sql`>=` : sql`<=`;
    return sql`n.version in (
      with recursive known (version) as (
        (select version from node order by version limit 1)
        union all select (select o.version from node o where o.version > k.version order by o.version limit 1) from known k where k.version is not null)
      select version from known where version is not null and version_order(version) collate "C" ${comparison} ${versionOrder(String(filter.value))}::text)`;
  },
};

function labelsMatch({ value }: Filter): Sql {
  return all(selectorOf(value).map(requirementMatches));
}

function labelsCounted({ value }: Filter): Sql {
  return all(selectorOf(value).map((one) => tokensMatch(one) ?? requirementMatches(one)));
}

function labelsLeaveOut({ value }: Filter): Sql | null {
  const tokens = selectorOf(value).map((requirement) => tokensMatch(opposite(requirement)));
  const found = tokens.filter((one) => one !== null);
  return found.length === tokens.length ? anyOf(found) : null;
}

/** The index of tokens answers it alone, without a look at the labels; `null` where what is absent is asked for. */
function tokensMatch(requirement: Requirement): Sql | null {
  const { key } = requirement;
  switch (requirement.op) {
    case 'exists':
      return sql`label_tokens(l.labels) @> ${[key]}::text[]`;
    case 'in':
      return sql`label_tokens(l.labels) && ${requirement.values.map((value) => `${key}=${value}`)}::text[]`;
    case 'absent':
    case 'notin':
      return null;
    default:
      return requirement satisfies never;
  }
}

function selectorOf(value: Filter['value']): Selector {
  const parsed = parseSelector(String(value));
  if (!parsed.ok) throw new Error(`A selector was let in that is none: ${parsed.problem}`);
  return parsed.selector;
}

function requirementMatches(requirement: Requirement): Sql {
  const { key } = requirement;
  switch (requirement.op) {
    case 'exists':
      return sql`l.labels ? ${key}::text`;
    case 'absent':
      return sql`not l.labels ? ${key}::text`;
    case 'in':
      return oneOf(key, requirement.values);
    case 'notin':
      return sql`not ${oneOf(key, requirement.values)}`;
    default:
      return requirement satisfies never;
  }
}

const OPPOSITES = { exists: 'absent', absent: 'exists', in: 'notin', notin: 'in' } as const;

/** What holds where the requirement does not. */
function opposite(requirement: Requirement): Requirement {
  return 'values' in requirement
    ? { ...requirement, op: OPPOSITES[requirement.op] }
    : { ...requirement, op: OPPOSITES[requirement.op] };
}

/** Never null, so that it can be turned round. */
function oneOf(key: string, values: readonly string[]): Sql {
  if (values.length > INDEXED_VALUES_MAX)
    return sql`coalesce(l.labels ->> ${key}::text = any(${values}::text[]), false)`;
  const each = values.map((value) => sql`l.labels @> ${JSON.stringify({ [key]: value })}::jsonb`);
  return anyOf(each);
}
