/** Temperatures of zones, and what cools them. */
import { addTable, rowsOf, type Collector } from './collector.ts';
import { numberOrNull } from './files.ts';

const MILLI = 1_000;

/**
 * Of /sys/class/thermal. Not there at all: nothing is served. Source: the kernel's
 * Documentation/driver-api/thermal/sysfs-api.rst.
 */
export const thermal: Collector = {
  name: 'thermal_zone',
  collect(out, host) {
    const names = host.sysNames('class/thermal');
    const numbered = (beginning: string): { name: string; type: string; path: string }[] =>
      names
        .filter((name) => name.startsWith(beginning))
        .map((name) => ({
          name: name.slice(beginning.length),
          type: host.sysOrNull(`class/thermal/${name}/type`) ?? '',
          path: `class/thermal/${name}`,
        }));
    addTable(
      out,
      [
        {
          name: 'node_thermal_zone_temp',
          help: 'Zone temperature in Celsius',
          of: (milliCelsius) => milliCelsius / MILLI,
        },
      ],
      rowsOf(
        host,
        numbered('thermal_zone'),
        ({ name, type }) => ({ zone: name, type }),
        ({ path }) => numberOrNull(host.sysOrNull(`${path}/temp`)),
      ),
    );
    addTable(
      out,
      [
        {
          name: 'node_cooling_device_cur_state',
          help: 'Current throttle state of the cooling device',
          of: ({ now }) => now,
        },
        {
          name: 'node_cooling_device_max_state',
          help: 'Maximum throttle state of the cooling device',
          of: ({ most }) => most,
        },
      ],
      rowsOf(
        host,
        numbered('cooling_device'),
        ({ name, type }) => ({ name, type }),
        ({ path }) => ({
          now: numberOrNull(host.sysOrNull(`${path}/cur_state`)),
          most: numberOrNull(host.sysOrNull(`${path}/max_state`)),
        }),
      ),
    );
  },
};
