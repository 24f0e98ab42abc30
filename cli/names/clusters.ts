/** Clusters by their names. */
import type { Api, Outputs } from '../service/client.ts';
import { firstRows } from '../service/pages.ts';
import { EXIT, isNotFound, objectionIn, Problem } from '../problem.ts';

/** Clusters that one targeting may name. Source: docs/limits.md. */
const TARGET_CLUSTERS_MAX = 10_000;

/** What may be a name, and what may be one with wildcards. Source: docs/api.md, Resources. */
const NAME = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/u;
const PATTERN = /^[a-z0-9*-]{1,63}$/u;

/** The cluster of this name. Says so when there is none. */
export async function clusterOf(api: Api, name: string): Promise<Outputs['get_cluster']> {
  return ofCluster(name, () => api.get_cluster.query({ name }));
}

/** What is asked about a cluster. Says so when there is none of this name. */
export async function ofCluster<T>(name: string, ask: () => Promise<T>): Promise<T> {
  if (!NAME.test(name)) throw noCluster(name);
  try {
    return await ask();
  } catch (error) {
    throw isNotFound(error) ? noCluster(name) : error;
  }
}

/**
 * Something is done to a cluster. What the service has against it is told with the name: several may be named at once.
 */
export async function doneToCluster<T>(name: string, done: 'made' | 'removed', ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    const objection = objectionIn(error);
    if (objection === null) throw error;
    throw new Problem(`the cluster "${name}" cannot be ${done}: ${objection.message}`, objection.status);
  }
}

/** The names of all clusters that are meant: each by its name, or by a part of it with `*`. */
export async function clusterNamesOf(api: Api, given: readonly string[]): Promise<readonly string[]> {
  const found = await Promise.all(
    given.map(async (name) => {
      if (!name.includes('*')) return [(await clusterOf(api, name)).name];
      const { rows, totalCount } = PATTERN.test(name)
        ? await firstRows(TARGET_CLUSTERS_MAX, (page) => api.list_clusters.query({ name, ...page }))
        : { rows: [], totalCount: 0 };
      if (totalCount > TARGET_CLUSTERS_MAX)
        throw new Problem(
          `"${name}" matches ${totalCount} clusters, and at most ${TARGET_CLUSTERS_MAX} can be named: say it by labels or --all`,
          EXIT.usage,
        );
      if (rows.length === 0)
        throw new Problem(`no cluster matches "${name}": edge cluster ls shows all`, EXIT.notFound);
      return rows.map((row) => row.name);
    }),
  );
  return [...new Set(found.flat())];
}

function noCluster(name: string): Problem {
  return new Problem(`there is no cluster "${name}": edge cluster ls shows all`, EXIT.notFound);
}
