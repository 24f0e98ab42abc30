/** The distribution. */
import { addInfo, boundLabels, type Collector } from './collector.ts';
import type { HostFiles } from './files.ts';

/** Fields of os-release(5) that are labels. */
const FIELDS = [
  'build_id',
  'id',
  'id_like',
  'image_id',
  'image_version',
  'name',
  'pretty_name',
  'variant',
  'variant_id',
  'version',
  'version_codename',
  'version_id',
] as const;

/** Of /etc/os-release or /usr/lib/os-release. */
export const osRelease: Collector = {
  name: 'os',
  collect(out, host) {
    const values = osReleaseOf(host);
    if (values === null) throw new Error('no os-release file');
    const of = (name: string): string => values.get(name) ?? '';
    addInfo(out, 'node_os_info', "A metric with a constant '1' value labeled by the fields of os-release.", [
      Object.fromEntries(FIELDS.map((name) => [name, of(name)])),
    ]);
    const version = /^\d+(?:\.\d+)?/u.exec(of('version_id'))?.[0];
    if (version !== undefined)
      out
        .family('node_os_version', 'gauge', 'Metric containing the major.minor part of the OS version.')
        .sample(
          'node_os_version',
          Number(version),
          boundLabels({ id: of('id'), id_like: of('id_like'), name: of('name') }),
        );
  },
};

/** Fields of os-release(5) by their names in lower case; null: there is no such file. */
export function osReleaseOf(host: HostFiles): ReadonlyMap<string, string> | null {
  const text = host.rootOrNull('etc/os-release') ?? host.rootOrNull('usr/lib/os-release');
  if (text === null) return null;
  return new Map(
    [...text.matchAll(/^(?<name>[A-Z_]+)=(?<value>.*)$/gmu)].map(({ groups }) => [
      (groups?.['name'] ?? '').toLowerCase(),
      unquoted(groups?.['value'] ?? ''),
    ]),
  );
}

/** Values may be quoted as in a shell. */
function unquoted(value: string): string {
  const inner = /^(?<quote>["'])(?<inner>.*)\k<quote>\s*$/u.exec(value)?.groups?.['inner'] ?? value;
  return inner.replaceAll(/\\(?<character>["'\\$`])/gu, '$<character>');
}
