/** The clock, its zone and where it comes from. */
import { addInfo, boundLabels, type Collector } from './collector.ts';
import type { HostFiles } from './files.ts';

const MS_PER_SECOND = 1_000;
const SECONDS_PER_MINUTE = 60;

const CLOCKS = 'devices/system/clocksource';

/** Of this process's clock and /sys/devices/system/clocksource. */
export const time: Collector = {
  name: 'time',
  collect(out, host) {
    const now = new Date();
    const offset = 0 - now.getTimezoneOffset() * SECONDS_PER_MINUTE;
    out.single(
      'node_time_seconds',
      'gauge',
      'System time in seconds since epoch (1970).',
      now.getTime() / MS_PER_SECOND,
    );
    const zone = zoneOf(host, offset);
    if (zone !== null)
      out
        .family('node_time_zone_offset_seconds', 'gauge', 'System time zone offset in seconds.')
        .sample('node_time_zone_offset_seconds', offset, boundLabels({ time_zone: zone }));
    const clocks = host
      .sysNamesOrNone(CLOCKS)
      .flatMap((name) => /^clocksource(?<device>\d+)$/u.exec(name)?.groups?.['device'] ?? []);
    const sources = (attribute: string) =>
      clocks.flatMap((device) =>
        (host.sysOrNull(`${CLOCKS}/clocksource${device}/${attribute}`) ?? '')
          .split(/\s+/u)
          .filter(Boolean)
          .map((clocksource) => ({ clocksource, device })),
      );
    addInfo(
      out,
      'node_time_clocksource_available_info',
      "Available clocksources read from '/sys/devices/system/clocksource'.",
      sources('available_clocksource'),
    );
    addInfo(
      out,
      'node_time_clocksource_current_info',
      "Current clocksource read from '/sys/devices/system/clocksource'.",
      sources('current_clocksource'),
    );
  },
};

/**
 * Abbreviation of the zone that holds now, such as CEST, from the rule at the end of the zone's file (RFC 9636, 3.3).
 * The internationalization of Node would know it too, for 9 MiB of memory (measured). Null: there is no such rule here.
 */
function zoneOf(host: HostFiles, offset: number): string | null {
  const chosen = process.env['TZ'];
  const file =
    chosen === undefined || chosen === ''
      ? 'etc/localtime'
      : `usr/share/zoneinfo/${chosen.replaceAll(/^:|\.\.\//gu, '')}`;
  const rule =
    /\n(?<standard>[A-Za-z]+|<[^>]+>)(?<sign>[+-]?)(?<hours>\d+)(?::(?<minutes>\d+))?[:\d]*(?<summer>[A-Za-z]+|<[^>]+>)?[^\n]*$/u.exec(
      host.rootOrNull(file) ?? '',
    )?.groups;
  if (rule === undefined) return offset === 0 ? 'UTC' : null;
  const standard =
    // POSIX counts westward
    (Number(rule['hours']) * 60 + Number(rule['minutes'] ?? 0)) * SECONDS_PER_MINUTE * (rule['sign'] === '-' ? 1 : -1);
  const name = offset === standard ? rule['standard'] : rule['summer'];
  return name?.replaceAll(/[<>]/gu, '') ?? null;
}
