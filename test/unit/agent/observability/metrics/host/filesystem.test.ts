/** File systems: which are asked, what is told of them, and one that never answers. */
import { statfsSync, type StatsFs } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import { createExporter } from '../../../../../../agent/observability/metrics/host/exporter.ts';
import { createFilesystemCollector } from '../../../../../../agent/observability/metrics/host/filesystem.ts';
import { scaled } from '../../../../../support/busy.ts';
import { expositionProblem, hostOf, samplesIn, scrapeOf } from './host-tree.ts';

/** A file system of 100 blocks of 4 KiB. */
const STATS = { type: 0, bsize: 4_096, blocks: 100, bfree: 40, bavail: 30, files: 1_000, ffree: 900 } as StatsFs;

test('the mounts that hold files of their own are served, with what statfs says', async (t) => {
  const asked: string[] = [];
  const lines = await scrapeOf(
    t,
    {
      'proc/1/mounts': [
        '/dev/sda1 / ext4 rw,relatime 0 0',
        'proc /proc proc rw 0 0',
        'overlay /over overlay rw 0 0',
        'tmpfs /run tmpfs rw 0 0',
        '/dev/sdb /runs xfs ro,noatime 0 0',
        '/dev/sdc /run/user/disk vfat rw 0 0',
        '',
      ].join('\n'),
    },
    createFilesystemCollector((path) => {
      asked.push(path.toString());
      return Promise.resolve(STATS);
    }),
  );

  t.deepEqual(asked, ['/', '/runs']);
  t.deepEqual(
    lines,
    [
      ['size_bytes', 409_600, 409_600],
      ['free_bytes', 163_840, 163_840],
      ['avail_bytes', 122_880, 122_880],
      ['files', 1_000, 1_000],
      ['files_free', 900, 900],
      ['readonly', 0, 1],
      ['device_error', 0, 0],
    ]
      .flatMap(([name, root, runs]) => [
        `node_filesystem_${name}{device="/dev/sda1",fstype="ext4",mountpoint="/"} ${root}`,
        `node_filesystem_${name}{device="/dev/sdb",fstype="xfs",mountpoint="/runs"} ${runs}`,
      ])
      .concat('node_scrape_collector_success{collector="filesystem"} 1'),
  );
});

test('disks below /mnt and /media are served too: there stand the data of many machines', async (t) => {
  const asked: string[] = [];
  await scrapeOf(
    t,
    { 'proc/1/mounts': '/dev/sdb /mnt/data ext4 rw 0 0\n/dev/sdc /media/archive xfs rw 0 0\n' },
    createFilesystemCollector((path) => {
      asked.push(path.toString());
      return Promise.resolve(STATS);
    }),
  );

  t.deepEqual(asked, ['/mnt/data', '/media/archive']);
});

test('where the mounts of the first process may not be read, those of this one are', async (t) => {
  const lines = await scrapeOf(
    t,
    { 'proc/self/mounts': '/dev/sda1 / ext4 rw 0 0\n' },
    createFilesystemCollector(() => Promise.resolve(STATS)),
  );

  t.true(lines.includes('node_filesystem_size_bytes{device="/dev/sda1",fstype="ext4",mountpoint="/"} 409600'));
});

test('a mount point with blanks, line ends, quotes and bytes that are no text is asked by its bytes and served as text', async (t) => {
  const asked: Buffer[] = [];
  const mounts = Buffer.concat([
    Buffer.from(String.raw`/dev/sd\040a /a\040b\012"c\134d`),
    Buffer.from([0xff]),
    Buffer.from(' ext4 rw 0 0\n'),
  ]);
  const lines = await scrapeOf(
    t,
    { 'proc/1/mounts': mounts },
    createFilesystemCollector((path) => {
      asked.push(path);
      return Promise.resolve(STATS);
    }),
  );

  t.deepEqual(asked, [Buffer.concat([Buffer.from('/a b\n"c\\d'), Buffer.from([0xff])])]);
  t.is(
    lines[0],
    `node_filesystem_size_bytes{device="/dev/sd a",fstype="ext4",mountpoint="/a b\\n\\"c\\\\d\uFFFD"} 409600`,
  );
});

test('a file system that refuses to answer has an error and no size', async (t) => {
  const lines = await scrapeOf(
    t,
    { 'proc/1/mounts': '/dev/sda1 / ext4 rw 0 0\n' },
    createFilesystemCollector(() => Promise.reject(new Error('EACCES'))),
  );

  t.deepEqual(lines, [
    'node_filesystem_device_error{device="/dev/sda1",fstype="ext4",mountpoint="/"} 1',
    'node_scrape_collector_success{collector="filesystem"} 1',
  ]);
});

test('a file system that hangs costs its time limit once, holds up nobody, and is asked again when it has answered', async (t) => {
  const asked: string[] = [];
  const back = Promise.withResolvers<StatsFs>();
  const collector = createFilesystemCollector((path) => {
    asked.push(path.toString());
    return path.toString() === '/nfs' ? back.promise : Promise.resolve(STATS);
  }, 20);
  const scrape = createExporter({
    version: '1.2.3',
    roots: await hostOf(t, { 'proc/1/mounts': 'server:/x /nfs nfs4 rw 0 0\n/dev/sda1 / ext4 rw 0 0\n' }),
    collectors: [collector],
  });
  const errors = async (): Promise<string[]> =>
    samplesIn(await scrape())
      .filter((line) => line.startsWith('node_filesystem_device_error'))
      .map((line) => line.slice(-1));

  t.deepEqual(await errors(), ['1', '0']);
  t.deepEqual(await errors(), ['1', '0']);
  t.deepEqual(asked, ['/', '/nfs', '/'], 'it is not asked while it hangs, and local ones come first');

  back.resolve(STATS);
  await new Promise(setImmediate);
  t.deepEqual(await errors(), ['0', '0']);
});

test('never so many hang that no thread is left for the files of the agent', async (t) => {
  const asked: string[] = [];
  const mounts = [
    ...Array.from({ length: 5 }, (_, index) => `server:/${index} /nfs${index} nfs rw 0 0`),
    ...Array.from({ length: 5 }, (_, index) => `/dev/sd${index} /disk${index} ext4 rw 0 0`),
  ];
  const collector = createFilesystemCollector((path) => {
    asked.push(path.toString());
    return path.toString() === '/disk4' ? Promise.resolve(STATS) : new Promise(() => {});
  }, 5);
  const text = await createExporter({
    version: '1.2.3',
    roots: await hostOf(t, { 'proc/1/mounts': `${mounts.join('\n')}\n` }),
    collectors: [collector],
  })();

  t.is(expositionProblem(text), null);
  t.deepEqual(asked, ['/disk0', '/disk1', '/disk2']);
});

test('two servers that are away leave the local disks served', async (t) => {
  const asked: string[] = [];
  const collector = createFilesystemCollector((path) => {
    asked.push(path.toString());
    return path.toString().startsWith('/nfs') ? new Promise(() => {}) : Promise.resolve(STATS);
  }, 5);
  const scrape = createExporter({
    version: '1.2.3',
    roots: await hostOf(t, {
      'proc/1/mounts': 's:/0 /nfs0 nfs rw 0 0\ns:/1 /nfs1 nfs rw 0 0\ns:/2 /nfs2 cifs rw 0 0\n/dev/sda / ext4 rw 0 0\n',
    }),
    collectors: [collector],
  });

  for (let round = 0; round < 3; round += 1)
    t.true(
      samplesIn(await scrape()).includes(
        'node_filesystem_size_bytes{device="/dev/sda",fstype="ext4",mountpoint="/"} 409600',
      ),
    );
  t.deepEqual(asked, ['/', '/nfs0', '/nfs1', '/', '/']);
});

test('the root file system of this machine is as large as statfs says', async (t) => {
  const text = await createExporter({ version: '1.2.3', collectors: [createFilesystemCollector(undefined, 60_000)] })();

  const { blocks, bsize } = statfsSync('/');
  t.regex(text, new RegExp(`^node_filesystem_size_bytes\\{.*mountpoint="/"\\} ${blocks * bsize}$`, 'mu'));
});

test('servers are served by their names, never by their addresses (R3)', async (t) => {
  const devices = [
    'files.example.com:/x',
    '100.64.0.7:/x',
    '[fd00:1::7]:/x',
    '//100.64.0.7/share',
    'me@100.64.0.7:/x',
    '//fd00:1::7/share',
    '100.64.0.7:6789,100.64.0.8:6789:/',
    'beef:/a:b',
  ];
  const lines = await scrapeOf(
    t,
    {
      'proc/1/mounts': `${devices.map((device, index) => `${device} /r${index} nfs4 rw,addr=100.64.0.7 0 0`).join('\n')}\n/dev/1.2.3.4 /local ext4 rw 0 0\n`,
    },
    createFilesystemCollector(() => Promise.resolve(STATS)),
  );

  t.deepEqual(
    lines
      .filter((line) => line.startsWith('node_filesystem_size_bytes'))
      .map((line) => /device="(?<device>[^"]*)"/u.exec(line)?.groups?.['device']),
    [
      'files.example.com:/x',
      'address:/x',
      'address:/x',
      '//address/share',
      'me@address:/x',
      '//address/share',
      'address:6789,address:6789:/',
      'beef:/a:b',
      '/dev/1.2.3.4',
    ],
  );
  t.notRegex(lines.join('\n'), /100\.64|fd00/u);
});

test('many file systems that are slow, and do not hang, cost what all of them may together', async (t) => {
  const msMax = 200;
  const mounts = Array.from({ length: 40 }, (_, at) => `server:/${at} /nfs/${at} nfs4 rw 0 0\n`);
  let asked = 0;
  const beganMs = performance.now();

  const lines = await scrapeOf(
    t,
    { 'proc/1/mounts': mounts.join('') },
    createFilesystemCollector(
      async () => {
        asked += 1;
        await delay(0.9 * msMax);
        return STATS;
      },
      msMax,
      2 * msMax,
    ),
  );

  t.true(asked >= 1 && asked <= 3, `${asked} were asked`);
  t.true(performance.now() - beganMs < scaled(20 * msMax));
  t.is(lines.filter((line) => /^node_filesystem_device_error\{.*\} 1$/u.test(line)).length, mounts.length - asked);
});
