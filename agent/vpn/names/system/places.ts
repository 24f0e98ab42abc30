/** Where this machine's resolution of names is set. */
import type { ResolutionFiles } from './systemd-resolved.ts';

/** Paths and programs; others in tests. */
export interface SystemPlaces extends ResolutionFiles {
  readonly hosts: string;
  readonly resolvConf: string;
  readonly nsswitch: string;
  readonly resolvectl: string;
  /** Where interfaces are shown. */
  readonly interfaces: string;
  /**
   * Whether programs ask the servers of resolv.conf one after another, as glibc does. musl asks all at once, so that
   * others would say first that a name does not exist.
   */
  readonly isOneByOne: () => boolean;
}

/** Those of a usual Linux. */
export const SYSTEM_PLACES: SystemPlaces = {
  hosts: '/etc/hosts',
  resolvConf: '/etc/resolv.conf',
  nsswitch: '/etc/nsswitch.conf',
  resolvectl: 'resolvectl',
  interfaces: '/sys/class/net',
  isOneByOne: isGlibc,
};

/**
 * Node is linked with the C library that the machine's programs use. Elsewhere than on Linux resolv.conf leads nobody.
 */
function isGlibc(): boolean {
  // since Node 22, not yet in its types
  const report = process.report as typeof process.report & { excludeNetwork: boolean };
  const wasLeftOut = report.excludeNetwork;
  report.excludeNetwork = true; // it would look up names of open sockets
  try {
    return (
      process.platform === 'linux' &&
      'glibcVersionRuntime' in (report.getReport() as { readonly header: object }).header
    );
  } finally {
    report.excludeNetwork = wasLeftOut;
  }
}
