/** Batteries and power adapters. */
import { addInfo, addTable, rowsOf, type Collector, type Column } from './collector.ts';
import { numberOrNull, type HostFiles } from './files.ts';

/**
 * Attributes with the name of their family where it is another. Source: the kernel's
 * Documentation/ABI/testing/sysfs-class-power.
 */
const COUNTS = [
  'authentic',
  'calibrate',
  'capacity',
  'capacity_alert_max',
  'capacity_alert_min',
  'cycle_count:cyclecount',
  'online',
  'present',
  'time_to_empty_now:time_to_empty_seconds',
  'time_to_full_now:time_to_full_seconds',
];
const MICROS = [
  'current_boot',
  'current_max',
  'current_now:current_ampere',
  'energy_empty',
  'energy_empty_design',
  'energy_full',
  'energy_full_design',
  'energy_now:energy_watthour',
  'voltage_boot',
  'voltage_max',
  'voltage_max_design',
  'voltage_min',
  'voltage_min_design',
  'voltage_now:voltage_volt',
  'voltage_ocv',
  'charge_control_limit',
  'charge_control_limit_max',
  'charge_counter',
  'charge_empty',
  'charge_empty_design',
  'charge_full',
  'charge_full_design',
  'charge_now:charge_ampere',
  'charge_term_current',
  'constant_charge_current',
  'constant_charge_current_max',
  'constant_charge_voltage',
  'constant_charge_voltage_max',
  'precharge_current',
  'input_current_limit',
  'power_now:power_watt',
];
const TENTHS = [
  'temp:temp_celsius',
  'temp_alert_max:temp_alert_max_celsius',
  'temp_alert_min:temp_alert_min_celsius',
  'temp_ambient:temp_ambient_celsius',
  'temp_ambient_max:temp_ambient_max_celsius',
  'temp_ambient_min:temp_ambient_min_celsius',
  'temp_max:temp_max_celsius',
  'temp_min:temp_min_celsius',
];
const TEXTS = [
  'capacity_level',
  'charge_type',
  'health',
  'manufacturer',
  'model_name',
  'serial_number',
  'status',
  'technology',
  'type',
  'usb_type',
  'scope',
];

type Row = ReadonlyMap<string, number | null>;

const COLUMNS: readonly Column<Row>[] = (
  [
    [COUNTS, 1],
    [MICROS, 1e6],
    [TENTHS, 10],
  ] as const
).flatMap(([attributes, divisor]) =>
  attributes.map((attribute) => {
    const [file = '', name = file] = attribute.split(':');
    return {
      name: `node_power_supply_${name}`,
      help: `${name} value of /sys/class/power_supply/<power_supply>.`,
      of: (row: Row) => {
        const value = row.get(file) ?? null;
        return value === null ? null : value / divisor;
      },
    };
  }),
);

/** Of /sys/class/power_supply. */
export const powerSupply: Collector = {
  name: 'powersupplyclass',
  collect(out, host) {
    const names = host.sysNames('class/power_supply');
    addTable(
      out,
      COLUMNS,
      rowsOf(
        host,
        names,
        (name) => ({ power_supply: name }),
        (name) => rowOf(host, name),
      ),
    );
    addInfo(
      out,
      'node_power_supply_info',
      'info of /sys/class/power_supply/<power_supply>.',
      names.map((name) =>
        Object.fromEntries([
          ['power_supply', name],
          ...TEXTS.map((file) => [file, host.sysOrNull(`class/power_supply/${name}/${file}`) ?? ''] as const).filter(
            ([, text]) => text !== '',
          ),
        ]),
      ),
    );
  },
};

/** Only the attributes that are there: looking for the others in vain would take longer. */
function rowOf(host: HostFiles, name: string): Row {
  const wanted = new Set([...COUNTS, ...MICROS, ...TENTHS].map((attribute) => attribute.split(':')[0]));
  return new Map(
    host
      .sysNamesOrNone(`class/power_supply/${name}`)
      .filter((file) => wanted.has(file))
      .map((file) => [file, numberOrNull(host.sysOrNull(`class/power_supply/${name}/${file}`))]),
  );
}
