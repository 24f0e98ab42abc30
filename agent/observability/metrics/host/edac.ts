/** Errors of memory that corrects them. */
import { addTable, rowsOf, type Collector } from './collector.ts';
import { numberOrNull } from './files.ts';

const CONTROLLERS = 'devices/system/edac/mc';

/**
 * Of /sys/devices/system/edac, where the memory controller reports errors. Source: the kernel's
 * Documentation/admin-guide/RAS.
 */
export const edac: Collector = {
  name: 'edac',
  collect(out, host) {
    const controllers = numbered(host.sysNamesOrNone(CONTROLLERS), /^mc(?<number>\d+)$/u).map((controller) => ({
      controller,
      path: `${CONTROLLERS}/mc${controller}`,
    }));
    const counts = (path: string, correctable: string, uncorrectable: string) => ({
      correctable: numberOrNull(host.sysOrNull(`${path}/${correctable}`)),
      uncorrectable: numberOrNull(host.sysOrNull(`${path}/${uncorrectable}`)),
    });
    addTable(
      out,
      columns('', 'memory'),
      rowsOf(
        host,
        controllers,
        ({ controller }) => ({ controller }),
        ({ path }) => counts(path, 'ce_count', 'ue_count'),
      ),
    );
    const rows = controllers.flatMap(({ controller, path }) => [
      { controller, csrow: 'unknown', ...counts(path, 'ce_noinfo_count', 'ue_noinfo_count') },
      ...numbered(host.sysNamesOrNone(path), /^csrow(?<number>\d+)$/u).map((csrow) => ({
        controller,
        csrow,
        ...counts(`${path}/csrow${csrow}`, 'ce_count', 'ue_count'),
      })),
    ]);
    addTable(
      out,
      columns('csrow_', 'memory for this csrow'),
      rowsOf(
        host,
        rows,
        ({ controller, csrow }) => ({ controller, csrow }),
        (row) => row,
      ),
    );
  },
};

function columns(part: string, of: string) {
  return [
    {
      name: `node_edac_${part}correctable_errors_total`,
      type: 'counter',
      help: `Total correctable ${of} errors.`,
      of: (row: { readonly correctable: number | null }) => row.correctable,
    },
    {
      name: `node_edac_${part}uncorrectable_errors_total`,
      type: 'counter',
      help: `Total uncorrectable ${of} errors.`,
      of: (row: { readonly uncorrectable: number | null }) => row.uncorrectable,
    },
  ] as const;
}

function numbered(names: readonly string[], pattern: RegExp): string[] {
  return names.flatMap((name) => pattern.exec(name)?.groups?.['number'] ?? []);
}
