// tapline._core.DevicesPlan: parts of an array in the memories of several GPUs, for tapline.devices.
#pragma once

#include <nanobind/nanobind.h>

#include "sharded_object.hpp"
#include "tapline/devices.hpp"

namespace tapline::python {

/// Whether a signal is a list or tuple of arrays, the first of which is in GPU memory.
bool is_list_on_gpus(PyObject* signal);

/// The class DevicesPlan.
void add_devices(nanobind::module_& module);

}  // namespace tapline::python
