/** What bounds a repository of releases: at those who sign, keep and install them alike. */
import * as releases from '../../transport/protocol/releases.ts';
import * as metadata from '../../transport/releases/repository/metadata.ts';
import { limits, type Limit } from './limit.ts';

/** By file. */
export const RELEASE_LIMITS: readonly (readonly Limit[])[] = [
  limits('transport/protocol/releases.ts', releases, [
    [
      'RELEASE_TARGETS_MAX',
      'Files that the metadata names. More are not signed, published or installed: `edge release rm` takes old versions out.',
    ],
    ['RELEASE_METADATA_BYTES_MAX', 'One file of metadata. A larger one is refused by admins and machines.'],
    ['RELEASE_DESCRIPTION_BYTES_MAX', 'One description of a release. A larger one is refused by admins and machines.'],
    ['RELEASE_FILE_BYTES_MAX', 'One file of a release; more is a 413.'],
  ]),
  limits('transport/releases/repository/metadata.ts', metadata, [
    [
      'METADATA_MEMBERS_MAX',
      'Keys of one root, and whatever else metadata has several of. More are refused before a signature is looked at, as is what goes beyond the limits below.',
    ],
    ['METADATA_SIGNATURES_MAX', 'Signatures of one file of metadata.'],
    ['METADATA_VALUES_MAX', 'Values in one file of metadata, without those of its targets.'],
    ['TARGET_VALUES_MAX', 'Values of one target.'],
    ['METADATA_DEPTH_MAX', 'Objects and lists within each other.'],
    ['METADATA_TEXT_CHARS_MAX', 'Characters of one text in it.'],
  ]),
];
