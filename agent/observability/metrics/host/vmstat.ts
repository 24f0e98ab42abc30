/** Paging and swapping. */
import type { Collector } from './collector.ts';

/** The fields that node_exporter serves of the hundred and more. Source: its flag collector.vmstat.fields. */
const LINE = /^(?<name>oom_kill\w*|pgpg\w*|pswp\w*|pg\w*fault\w*) (?<number>\d+)$/gmu;

/** Of /proc/vmstat. */
export const vmstat: Collector = {
  name: 'vmstat',
  collect(out, host) {
    for (const { groups } of host.proc('vmstat').matchAll(LINE)) {
      const { name = '', number } = groups ?? {};
      out.single(`node_vmstat_${name}`, 'untyped', `/proc/vmstat information field ${name}.`, Number(number));
    }
  },
};
