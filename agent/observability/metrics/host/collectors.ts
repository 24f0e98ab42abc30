/** Every collector, in the order in which they are served. */
import { arp } from './arp.ts';
import type { Collector } from './collector.ts';
import { conntrack } from './conntrack.ts';
import { cpu } from './cpu.ts';
import { cpufreq } from './cpufreq.ts';
import { diskstats } from './diskstats.ts';
import { edac } from './edac.ts';
import { entropy } from './entropy.ts';
import { filefd } from './filefd.ts';
import { createFilesystemCollector } from './filesystem.ts';
import { hwmon } from './hwmon.ts';
import { loadavg } from './loadavg.ts';
import { mdadm } from './mdadm.ts';
import { meminfo } from './meminfo.ts';
import { netclass } from './netclass.ts';
import { netdev } from './netdev.ts';
import { netstat } from './netstat.ts';
import { osRelease } from './os-release.ts';
import { ownProcess } from './own-process.ts';
import { powerSupply } from './power-supply.ts';
import { pressure } from './pressure.ts';
import { processes } from './processes.ts';
import { schedstat } from './schedstat.ts';
import { sockstat } from './sockstat.ts';
import { softnet } from './softnet.ts';
import { stat } from './stat.ts';
import { thermal } from './thermal.ts';
import { time } from './time.ts';
import { udpQueues } from './udp-queues.ts';
import { uname } from './uname.ts';
import { vmstat } from './vmstat.ts';

/** Those that matter most come first: where a machine has so much that the text gets too long, the last ones go. */
export function createCollectors(): readonly Collector[] {
  return [
    loadavg,
    cpu,
    meminfo,
    stat,
    uname,
    osRelease,
    time,
    createFilesystemCollector(),
    diskstats,
    vmstat,
    pressure,
    filefd,
    netstat,
    sockstat,
    softnet,
    conntrack,
    entropy,
    processes,
    ownProcess,
    thermal,
    hwmon,
    powerSupply,
    mdadm,
    edac,
    cpufreq,
    schedstat,
    udpQueues,
    arp,
    netdev,
    netclass,
  ];
}
