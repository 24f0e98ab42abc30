/** Where files are on machines: a path behind the words that say which machines, or one of its own. */
import { EXIT, Problem } from '../problem.ts';
import type { Places } from '../names/targeting.ts';

/** Which machines, and where on them. */
export interface PlacedPaths {
  readonly places: Places;
  readonly paths: readonly string[];
}

/**
 * Takes a path off `-l SELECTOR:PATH`, `-c`, `-n` or `--in`, and adds those of `flag`. Rejects none, and one that is
 * not absolute: machines have no directory that both sides mean.
 */
export function placedPaths(places: Places, given: readonly string[], flag: '--to' | '--from'): PlacedPaths {
  const { labels, cluster, node, in: group, ...rest } = places;
  const found: string[] = [];
  const bare = (text: string): string => {
    const colon = text.indexOf(':');
    if (colon === -1) return text;
    found.push(text.slice(colon + 1));
    return text.slice(0, colon);
  };
  const names = (words: readonly string[]): readonly string[] => {
    const last = words.findIndex((word) => word.includes(':'));
    if (last !== -1 && last < words.length - 1)
      throw new Problem(`a path stands behind the last name, and one with a comma by itself: ${flag} PATH`, EXIT.usage);
    return words.map(bare);
  };
  const paths = (): readonly string[] => [...found, ...given];
  const bared: Places = {
    ...rest,
    ...(cluster !== undefined && { cluster: names(cluster) }),
    ...(node !== undefined && { node: names(node) }),
    ...(group !== undefined && { in: bare(group) }),
    ...(labels !== undefined && { labels: bare(labels) }),
  };
  if (paths().length === 0)
    throw new Problem(`say where on the machines: -l SELECTOR:PATH, or ${flag} PATH`, EXIT.usage);
  for (const path of paths())
    if (!path.startsWith('/') || path.includes('\0'))
      throw new Problem(`"${path}" is no absolute path on a machine: it should begin with /`, EXIT.usage);
  return { places: bared, paths: paths() };
}
