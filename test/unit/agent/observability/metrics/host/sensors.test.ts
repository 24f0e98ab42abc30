/** Heat, sensors and batteries, as the documentation of the kernel and real machines show them. */
import test from 'ava';
import { hwmon } from '../../../../../../agent/observability/metrics/host/hwmon.ts';
import { powerSupply } from '../../../../../../agent/observability/metrics/host/power-supply.ts';
import { thermal } from '../../../../../../agent/observability/metrics/host/thermal.ts';
import { scrapeOf, within } from './host-tree.ts';

test('thermal zones are in degrees, and cooling devices have a state and its limit', async (t) => {
  const lines = await scrapeOf(
    t,
    {
      ...within('sys/class/thermal/thermal_zone0', { type: 'x86_pkg_temp', temp: '47500' }),
      ...within('sys/class/thermal/thermal_zone1', { type: 'iwlwifi' }),
      ...within('sys/class/thermal/cooling_device0', { type: 'Processor', cur_state: '1', max_state: '10' }),
    },
    thermal,
  );

  t.deepEqual(lines, [
    'node_thermal_zone_temp{zone="0",type="x86_pkg_temp"} 47.5',
    'node_cooling_device_cur_state{name="0",type="Processor"} 1',
    'node_cooling_device_max_state{name="0",type="Processor"} 10',
    'node_scrape_collector_success{collector="thermal_zone"} 1',
  ]);
});

test('sensors carry the path of their chip, its name and their labels beside them, and units', async (t) => {
  const lines = await scrapeOf(
    t,
    {
      'sys/devices/platform/coretemp.0/uevent': '',
      'sys/class/hwmon/hwmon3/device': ['../../../devices/platform/coretemp.0'],
      ...within('sys/class/hwmon/hwmon3', {
        name: 'coretemp',
        temp1_input: '51000',
        temp1_label: 'Package id 0',
        temp1_max: '100000',
        temp1_crit: '105000',
        temp1_crit_alarm: '0',
        fan2_input: '1200',
        fan2_alarm: '0',
        in0_input: '1056',
        power1_average: '25000000',
        energy1_input: '7000000',
        uevent: 'x',
        temp_broken: '1',
      }),
    },
    hwmon,
  );

  const chip = 'chip="platform_coretemp_0"';
  t.deepEqual(lines.toSorted(), [
    `node_hwmon_chip_names{${chip},chip_name="coretemp"} 1`,
    `node_hwmon_energy_joule_total{${chip},sensor="energy1"} 7`,
    `node_hwmon_fan_alarm{${chip},sensor="fan2"} 0`,
    `node_hwmon_fan_rpm{${chip},sensor="fan2"} 1200`,
    `node_hwmon_in_volts{${chip},sensor="in0"} 1.056`,
    `node_hwmon_power_average_watt{${chip},sensor="power1"} 25`,
    `node_hwmon_sensor_label{${chip},sensor="temp1",label="Package id 0"} 1`,
    `node_hwmon_temp_celsius{${chip},sensor="temp1"} 51`,
    `node_hwmon_temp_crit_alarm_celsius{${chip},sensor="temp1"} 0`,
    `node_hwmon_temp_crit_celsius{${chip},sensor="temp1"} 105`,
    `node_hwmon_temp_max_celsius{${chip},sensor="temp1"} 100`,
    'node_scrape_collector_success{collector="hwmon"} 1',
  ]);
});

test('batteries and adapters are in volts, watt-hours and degrees', async (t) => {
  const lines = await scrapeOf(
    t,
    {
      ...within('sys/class/power_supply/AC', { type: 'Mains', online: '1' }),
      ...within('sys/class/power_supply/BAT0', {
        type: 'Battery',
        status: 'Discharging',
        capacity: '81',
        cycle_count: '12',
        energy_now: '49000000',
        voltage_now: '12229000',
        temp: '305',
        serial_number: '',
      }),
    },
    powerSupply,
  );

  t.deepEqual(lines.toSorted(), [
    'node_power_supply_capacity{power_supply="BAT0"} 81',
    'node_power_supply_cyclecount{power_supply="BAT0"} 12',
    'node_power_supply_energy_watthour{power_supply="BAT0"} 49',
    'node_power_supply_info{power_supply="AC",type="Mains"} 1',
    'node_power_supply_info{power_supply="BAT0",status="Discharging",type="Battery"} 1',
    'node_power_supply_online{power_supply="AC"} 1',
    'node_power_supply_temp_celsius{power_supply="BAT0"} 30.5',
    'node_power_supply_voltage_volt{power_supply="BAT0"} 12.229',
    'node_scrape_collector_success{collector="powersupplyclass"} 1',
  ]);
});
