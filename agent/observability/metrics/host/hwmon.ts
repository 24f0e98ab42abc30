/** Sensors of the hardware: temperatures, fans, voltages. */
import { realpathSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { Exposition } from '../../../../transport/net/exposition/exposition.ts';
import { addInfo, addTable, rowsOf, type Collector } from './collector.ts';
import { numberOrNull, type HostFiles } from './files.ts';

const CLASS = 'class/hwmon';

/** Attributes of sensors: kind, number, and property. Source: the kernel's Documentation/hwmon/sysfs-interface.rst. */
const ATTRIBUTE =
  /^(?<kind>in|cpu|fan|pwm|temp|curr|power|energy|humidity|intrusion)(?<number>\d{1,4})(?:_(?<property>\w{1,64}))?$/u;

/** Values of one scrape by the name of their family. */
interface Reading {
  readonly family: string;
  readonly isCounter: boolean;
  readonly chip: string;
  readonly sensor: string;
  readonly value: number;
}

/** Of /sys/class/hwmon, under the names and units of node_exporter. */
export const hwmon: Collector = {
  name: 'hwmon',
  collect(out, host) {
    const chips = host.sysNames(CLASS).map((directory) => ({ directory, chip: chipOf(host, directory) }));
    const labels: { chip: string; sensor: string; label: string }[] = [];
    const readings = chips.flatMap(({ directory, chip }) =>
      ['', '/device'].flatMap((place) => {
        const path = `${CLASS}/${directory}${place}`;
        return host
          .sysNamesOrNone(path)
          .flatMap((file) => readingOf(host, `${path}/${file}`, chip, file, labels) ?? []);
      }),
    );
    for (const [family, all] of Map.groupBy(readings, (reading) => reading.family)) addReadings(out, host, family, all);
    addInfo(out, 'node_hwmon_sensor_label', 'Label for given chip and sensor', labels);
    addInfo(
      out,
      'node_hwmon_chip_names',
      'Annotation metric for human-readable chip names',
      chips.flatMap(({ directory, chip }) => {
        const name = clean(host.sysOrNull(`${CLASS}/${directory}/name`) ?? '');
        return name === '' ? [] : [{ chip, chip_name: name }];
      }),
    );
  },
};

function addReadings(out: Exposition, host: HostFiles, family: string, readings: readonly Reading[]): void {
  addTable(
    out,
    [
      {
        name: family,
        type: readings[0]?.isCounter === true ? 'counter' : 'gauge',
        help: `Hardware monitor ${family.slice('node_hwmon_'.length)}`,
        of: (value) => value,
      },
    ],
    rowsOf(
      host,
      readings,
      ({ chip, sensor }) => ({ chip, sensor }),
      ({ value }) => value,
    ),
  );
}

function readingOf(
  host: HostFiles,
  path: string,
  chip: string,
  file: string,
  labels: { chip: string; sensor: string; label: string }[],
): Reading | null {
  const { kind, number, property = '' } = ATTRIBUTE.exec(file)?.groups ?? {};
  if (kind === undefined) return null;
  const text = host.sysOrNull(path);
  const sensor = `${kind}${number}`;
  if (property === 'label') {
    if (text !== null && text !== '') labels.push({ chip, sensor, label: text });
    return null;
  }
  const value = numberOrNull(text);
  if (value === null) return null;
  const { suffix, divisor } = unitOf(kind, property);
  return {
    family: `node_hwmon_${kind}${property === 'input' || property === '' ? '' : `_${clean(property)}`}${suffix}`,
    isCounter: kind === 'energy',
    chip,
    sensor,
    value: value / divisor,
  };
}

/** What follows the name, and what the number is divided by. */
function unitOf(kind: string, property: string): { suffix: string; divisor: number } {
  if (property === 'fault' || property === 'alarm') return { suffix: '', divisor: 1 };
  if (property === 'beep') return { suffix: '_enabled', divisor: 1 };
  switch (kind) {
    case 'in':
    case 'cpu':
      return { suffix: '_volts', divisor: 1_000 };
    case 'temp':
      return property === 'type' ? { suffix: '', divisor: 1 } : { suffix: '_celsius', divisor: 1_000 };
    case 'curr':
      return { suffix: '_amps', divisor: 1_000 };
    case 'energy':
      return { suffix: '_joule_total', divisor: 1e6 };
    case 'power':
      if (property === 'accuracy') return { suffix: '', divisor: 1e6 };
      return property.startsWith('average_interval')
        ? { suffix: '_seconds', divisor: 1_000 }
        : { suffix: '_watt', divisor: 1e6 };
    case 'humidity':
      return { suffix: '', divisor: 1e6 };
    case 'fan':
      return { suffix: ['input', 'min', 'max', 'target'].includes(property) ? '_rpm' : '', divisor: 1 };
    default:
      return { suffix: '', divisor: 1 };
  }
}

/** Chips are numbered as they were found, so the path of the device names them, else what the driver says. */
function chipOf(host: HostFiles, directory: string): string {
  try {
    const device = realpathSync(`${host.roots.sys}/${CLASS}/${directory}/device`);
    const name = [basename(dirname(device)), basename(device)].map(clean).filter(Boolean).join('_');
    if (name !== '') return name;
  } catch {
    // it has no device: some drivers are only software
  }
  return clean(host.sysOrNull(`${CLASS}/${directory}/name`) ?? '') || directory;
}

function clean(name: string): string {
  return name
    .toLowerCase()
    .replaceAll(/[^a-z0-9:_]/gu, '_')
    .replaceAll(/^_+|_+$/gu, '');
}
