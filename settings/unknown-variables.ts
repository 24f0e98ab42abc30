/** Variables that look like settings and are none: misspelt, or of another version. */
import { nearestOf } from './nearest.ts';

/** What is looked for among the variables of a process. */
export interface Looked {
  /** Names that mean something, here or to another program of ours. */
  readonly known: readonly string[];
  /** Beginnings of names that nobody else uses: an unknown one is told of. */
  readonly own: readonly string[];
  /** Beginnings that others may use too: an unknown one is told of only where a known one is near. */
  readonly shared?: readonly string[];
}

/**
 * What orchestrators put into every process for each of their services. Source: Kubernetes, environment variables of
 * services.
 */
const OF_SERVICES = /_SERVICE_(?:HOST|PORT)|_PORT_\d+_(?:TCP|UDP)|^(?:tcp|udp):\/\//u;

/** Most that are told of. */
const TOLD_MAX = 20;

/** One sentence for each unknown variable, in the order of their names; values are never repeated. */
export function unknownVariables(
  env: Readonly<Record<string, string | undefined>>,
  { known, own, shared = [] }: Looked,
): readonly string[] {
  const names = new Set(known);
  return Object.keys(env)
    .toSorted()
    .flatMap((name) => {
      const isOwn = own.some((beginning) => name.startsWith(beginning));
      if (!(isOwn || shared.some((beginning) => name.startsWith(beginning))) || names.has(name)) return [];
      if (OF_SERVICES.test(name) || OF_SERVICES.test(env[name] ?? '')) return [];
      const nearest = nearestOf(name, known);
      if (nearest !== null) return [`${name} is no setting and does nothing: did you mean ${nearest}?`];
      return isOwn ? [`${name} is no setting and does nothing`] : [];
    })
    .slice(0, TOLD_MAX);
}
